// SPDX-License-Identifier: Apache-2.0
// Groups of the AllReduce engine out of a TOML file.
#include <map>

#include "core/toml_table.h"
#include "rnic/collective/group.h"
#include "rnic/core/file.h"

namespace rnic::collective {
namespace {

constexpr size_t kMostText = 1 << 20;
constexpr uint64_t kMost = uint64_t{1} << 62;  // TOML's numbers are signed

uint64_t members_of(detail::TomlTable& t) {
  std::optional<unsigned> ranks;
  t.integer("ranks", ranks, 1, golden::arp::kMaxRanks);
  const toml::node* list = t.raw("members");
  if (ranks && list) t.fail("members", "give either `ranks` (the first so many) or `members`");
  if (ranks) return *ranks == 64 ? ~uint64_t{0} : (uint64_t{1} << *ranks) - 1;
  if (!list) t.fail("", "says neither `ranks` nor `members`");
  const auto* array = list->as_array();
  if (!array) t.fail("members", "must be a list of ranks, such as [0, 2, 5]");
  uint64_t members = 0;
  for (const auto& node : *array) {
    const auto v = node.value_exact<int64_t>();
    if (!v || *v < 0 || *v >= golden::arp::kMaxRanks) t.fail("members", "must be a list of ranks from 0 to 63");
    if (members >> *v & 1) t.fail("members", fmt::format("names rank {} twice", *v));
    members |= uint64_t{1} << *v;
  }
  return members;
}

}  // namespace

std::vector<GroupSpec> parse_groups(const std::string& text, const std::string& file) {
  const toml::table root = detail::parse_toml(text, file);
  for (const auto& [key, node] : root) {
    if (key.str() != "group") {
      throw InputError(file, static_cast<unsigned>(key.source().begin.line), std::string(key.str()),
                       "unknown key; allowed: [[group]] tables");
    }
    (void)node;
  }
  const toml::array* list = root["group"].as_array();
  if (!list || list->empty()) throw InputError(file, 0, "", "holds no [[group]] table");
  std::vector<GroupSpec> specs;
  GroupTable trial;  // whether they fit together, said with the line of the one that does not
  for (size_t i = 0; i < list->size(); ++i) {
    const toml::table* table = (*list)[i].as_table();
    if (!table) throw InputError(file, detail::line_of((*list)[i]), "group", "must be [[group]] tables");
    detail::TomlTable t(file, fmt::format("group[{}]", i), *table, nullptr);
    GroupSpec s;
    s.group = static_cast<unsigned>(i);
    t.integer("group", s.group, 0, golden::arp::kNumGroups - 1);
    std::string type = "float", op = "sum";
    bool acc32 = false;
    t.word("type", type);
    t.word("op", op);
    t.boolean("acc32", acc32);
    t.boolean("wide", s.wide);
    s.members = members_of(t);
    t.integer("count", s.count, 1, kMost);
    t.integer("fragment", s.fragment, 1, kMost);
    t.integer("chunk", s.chunk, 1, kMost);
    t.integer("slots", s.slots, 1, kMost);
    t.integer("slot_base", s.slot_base, 0, kMost);
    t.integer("row_base", s.row_base, 0, kMost);
    t.integer("dst", s.dst, 0, kMost);
    t.done();
    try {
      s.type = parse_type(type, acc32);
      s.op = parse_op(op);
      trial.add(s);
    } catch (const GroupFault& fault) {
      t.fail(fault.key, fault.what());
    }
    specs.push_back(s);
  }
  return specs;
}

std::vector<GroupSpec> load_groups(const std::string& path) { return parse_groups(read_text(path, kMostText), path); }

}  // namespace rnic::collective
