// SPDX-License-Identifier: Apache-2.0
// rnicsim regs: the register map, from the tables generated out of rtl/regs/*.rdl.
#include "rnic/regs/regs.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <iterator>

#include "common.h"
#include "table.h"

namespace rnic::cli {
namespace {

struct Options {
  int bar = -1;
  std::string name = "*";
  bool json = false, fields = false;
};

const char* access_text(regs::Access a) {
  switch (a) {
    case regs::Access::kRead:
      return "ro";
    case regs::Access::kWrite:
      return "wo";
    case regs::Access::kReadWrite:
      return "rw";
  }
  return "?";
}

/// Access of all fields together.
const char* access_text(const regs::Register& r) {
  bool read = r.memory, write = r.memory;
  for (unsigned i = 0; i < r.num_fields; ++i) {
    read = read || r.fields[i].access != regs::Access::kWrite;
    write = write || r.fields[i].access != regs::Access::kRead;
  }
  return access_text(read && write ? regs::Access::kReadWrite : write ? regs::Access::kWrite : regs::Access::kRead);
}

std::string offset_text(const regs::Register& r) {
  std::string s = fmt::format("0x{:06x}", r.offset);
  for (unsigned d = 0; d < 2; ++d) {
    if (r.count[d] > 1) s += fmt::format(" + {}*0x{:x}", d == 0 ? "i" : "j", r.stride[d]);
  }
  return s;
}

std::string count_text(const regs::Register& r) {
  if (r.count[0] == 1 && r.count[1] == 1) return "";
  return r.count[1] == 1 ? fmt::format("{}", r.count[0]) : fmt::format("{} x {}", r.count[0], r.count[1]);
}

std::string reset_text(const regs::Register& r) {
  if (r.memory || r.bits > 64) return "";
  uint64_t v = 0;
  for (unsigned i = 0; i < r.num_fields; ++i) v = r.fields[i].set(v, r.fields[i].reset);
  return fmt::format("0x{:x}", v);
}

nlohmann::json register_json(const regs::Register& r) {
  nlohmann::json j{{"bar", r.bar},
                   {"name", r.name},
                   {"offset_bytes", r.offset},
                   {"width_bits", r.bits},
                   {"access", access_text(r)},
                   {"description", r.desc},
                   {"count", {r.count[0], r.count[1]}},
                   {"stride_bytes", {r.stride[0], r.stride[1]}},
                   {"fields", nlohmann::json::array()}};
  for (unsigned i = 0; i < r.num_fields; ++i) {
    const auto& f = r.fields[i];
    j["fields"].push_back({{"name", f.name},
                           {"lsb", f.lsb},
                           {"width_bits", f.width},
                           {"access", access_text(f.access)},
                           {"reset", f.reset},
                           {"description", f.desc}});
  }
  return j;
}

int show(const Options& o) {
  nlohmann::json list = nlohmann::json::array();
  Table table({"BAR", "<offset", "count", "bits", "<access", "reset", "<name", "<description"});
  Table fields({"<register", "<bits", "<access", "reset", "<field", "<description"});
  unsigned found = 0;
  for (const auto& r : regs::kRegisters) {
    if (o.bar >= 0 && r.bar != o.bar) continue;
    if (fnmatch(o.name.c_str(), r.name, 0) != 0) continue;
    ++found;
    list.push_back(register_json(r));
    table.row({fmt::to_string(r.bar), offset_text(r), count_text(r), fmt::to_string(r.bits), access_text(r),
               reset_text(r), r.name, r.desc});
    for (unsigned i = 0; i < r.num_fields; ++i) {
      const auto& f = r.fields[i];
      fields.row({r.name, fmt::format("{}:{}", f.lsb + f.width - 1, f.lsb), access_text(f.access),
                  fmt::format("0x{:x}", f.reset), f.name, f.desc});
    }
  }
  if (found == 0) {
    throw InputError("", 0, "",
                     fmt::format("no register is named '{}'{}; * and ? stand for any text and character", o.name,
                                 o.bar < 0 ? "" : fmt::format(" in BAR{}", o.bar)));
  }
  if (o.json) {
    fmt::print("{}\n", json_text({{"schema_version", 1}, {"registers", list}}));
    return kGood;
  }
  fmt::print("{}", table.text());
  if (!fields.empty() && (o.fields || o.name != "*")) fmt::print("\n{}", fields.text());
  return kGood;
}

}  // namespace

void add_regs(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("regs", "Registers, contexts and counters of BAR0, BAR1 and BAR2");
  sub->add_option("name", o.name, "Names to show; * and ? stand for any text and character")->type_name("GLOB");
  sub->add_option("--bar", o.bar, "Only this BAR")->check(quiet_check(CLI::Range(0, 2)))->type_name("N");
  sub->add_flag("--fields", o.fields, "Show the fields, too (always done when names are given)");
  sub->add_flag("--json", o.json, "As JSON");
  sub->footer("Examples:\n  rnicsim regs --bar 0\n  rnicsim regs 'qpc*'\n  rnicsim regs --bar 2 '*cqe*'");
  sub->callback([&status] { status = show(o); });
}

}  // namespace rnic::cli
