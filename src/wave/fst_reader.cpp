// SPDX-License-Identifier: Apache-2.0
// FST by the reader that Verilator ships (its copy of fstapi is part of its runtime).
#include <gtkwave/fstapi.h>

#include <cstdio>
#include <filesystem>

#include "rnic/core/error.h"
#include "rnic/wave/reader.h"

namespace rnic::wave::detail {
namespace {

/// fstapi takes a damaged file for good, or ends the process: the blocks are counted before it sees it.
void check_blocks(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::exists(path + ".hier", ec)) return;  // of a killed process: readable up to the last flush
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (f == nullptr) return;
  const auto size = static_cast<uint64_t>(std::filesystem::file_size(path));
  bool geometry = false, hierarchy = false, packed = false, whole = true;
  uint64_t at = 0;
  while (at < size) {
    unsigned char head[9];
    if (std::fseek(f, static_cast<long>(at), SEEK_SET) != 0 || std::fread(head, 1, 9, f) != 9) {
      whole = false;
      break;
    }
    uint64_t length = 0;
    for (int i = 1; i <= 8; ++i) length = length << 8 | head[i];
    if (length < 8 || length > size - at - 1) {
      whole = false;
      break;
    }
    geometry = geometry || head[0] == FST_BL_GEOM;
    hierarchy = hierarchy || head[0] == FST_BL_HIER || head[0] == FST_BL_HIER_LZ4 || head[0] == FST_BL_HIER_LZ4DUO;
    packed = packed || head[0] == FST_BL_ZWRAPPER;
    at += 1 + length;
  }
  std::fclose(f);
  if (!whole || !((geometry && hierarchy) || packed)) {
    throw InputError(path, 0, "", "FST file is cut off or was not closed: write it again, closing it at the end");
  }
}

class FstReader : public Reader {
 public:
  explicit FstReader(const std::string& path) : Reader(path, "FST") {
    check_blocks(path);
    context_ = fstReaderOpen(path.c_str());
    if (context_ == nullptr) {
      throw InputError(path, 0, "", "FST file cannot be read: it is damaged, was not closed, or holds no value change");
    }
    int exponent = fstReaderGetTimescale(context_);
    tick_fs_ = 1;
    for (; exponent > -15; --exponent) tick_fs_ *= 10;
    id_count_ = fstReaderGetMaxHandle(context_) + 1;
    std::vector<size_t> lengths;
    std::string scope;
    while (const fstHier* h = fstReaderIterateHier(context_)) {
      if (h->htyp == FST_HT_SCOPE) {
        lengths.push_back(scope.size());
        if (h->u.scope.name_length != 0) scope += (scope.empty() ? "" : ".") + std::string(h->u.scope.name);
      } else if (h->htyp == FST_HT_UPSCOPE) {
        if (lengths.empty()) continue;
        scope.resize(lengths.back());
        lengths.pop_back();
      } else if (h->htyp == FST_HT_VAR) {
        const auto type = h->u.var.typ;
        if (type == FST_VT_VCD_REAL || type == FST_VT_VCD_REAL_PARAMETER || type == FST_VT_VCD_REALTIME ||
            type == FST_VT_SV_SHORTREAL || type == FST_VT_GEN_STRING || h->u.var.length == 0) {
          continue;
        }
        Signal s;
        s.width = h->u.var.length;
        s.id = h->u.var.handle;
        set_name(s, scope, h->u.var.name);
        signals_.push_back(std::move(s));
      }
    }
    widths_.resize(id_count_);
    for (const auto& s : signals_) widths_[s.id] = s.width;
  }
  ~FstReader() override {
    if (context_ != nullptr) fstReaderClose(context_);
  }

  uint64_t read(const std::vector<uint32_t>& ids, uint64_t from, uint64_t to, Visitor& visitor) override {
    fstReaderClrFacProcessMaskAll(context_);
    for (const uint32_t id : ids) fstReaderSetFacProcessMask(context_, id);
    // Blocks are left out by it; inside of them the filter does it.
    if (from == 0 && to == ~uint64_t{0})
      fstReaderSetUnlimitedTimeRange(context_);
    else
      fstReaderSetLimitTimeRange(context_, from, to);
    struct Call {
      RangeFilter filter;
      const std::vector<uint32_t>& widths;
    } call{{id_count_, from, to, visitor}, widths_};
    fstReaderIterBlocks(
        context_,
        [](void* user, uint64_t time, fstHandle id, const unsigned char* value) {
          auto* c = static_cast<Call*>(user);
          c->filter.on_change(id, time, reinterpret_cast<const char*>(value), c->widths[id]);
        },
        &call, nullptr);
    call.filter.flush();
    return std::min<uint64_t>(to, fstReaderGetEndTime(context_));
  }

 private:
  void* context_ = nullptr;
  std::vector<uint32_t> widths_;
};

}  // namespace

std::unique_ptr<Reader> open_fst(const std::string& path) { return std::make_unique<FstReader>(path); }

}  // namespace rnic::wave::detail
