// SPDX-License-Identifier: Apache-2.0
// Reads signals of an FST file with the reader that Verilator ships (its copy of fstapi, linked with its runtime).
#pragma once

#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rnic::test {

class FstFile {
 public:
  struct Change {
    uint64_t ps;
    std::string value;  ///< as dumped, most significant bit first
    uint64_t number() const { return std::stoull(value.substr(value.size() > 64 ? value.size() - 64 : 0), nullptr, 2); }
  };
  using Changes = std::vector<Change>;

  explicit FstFile(const std::string& path) : reader_(fstReaderOpen(path.c_str())) {
    if (reader_ == nullptr) {
      ADD_FAILURE() << path << " cannot be read as FST";
      return;
    }
    while (fstHier* h = fstReaderIterateHier(reader_)) {
      if (h->htyp == FST_HT_SCOPE) {
        scope_.push_back(h->u.scope.name);
      } else if (h->htyp == FST_HT_UPSCOPE) {
        scope_.pop_back();
      } else if (h->htyp == FST_HT_VAR) {
        std::string name;
        for (const auto& s : scope_) name += s + ".";
        name += h->u.var.name;
        handles_[name.substr(0, name.find(" ["))] = h->u.var.handle;
      }
    }
  }
  ~FstFile() {
    if (reader_ != nullptr) fstReaderClose(reader_);
  }
  FstFile(const FstFile&) = delete;

  /// All changes of the named signals, by name. An unknown name fails the test.
  std::map<std::string, Changes> read(const std::vector<std::string>& names) {
    std::map<std::string, Changes> out;
    std::map<fstHandle, std::vector<Changes*>> wanted;
    if (reader_ == nullptr) return out;
    fstReaderClrFacProcessMaskAll(reader_);
    for (const auto& n : names) {
      auto it = handles_.find(n);
      if (it == handles_.end()) {
        ADD_FAILURE() << "no signal " << n << " in the waveform";
        continue;
      }
      fstReaderSetFacProcessMask(reader_, it->second);
      wanted[it->second].push_back(&out[n]);
    }
    fstReaderIterBlocks(
        reader_,
        [](void* user, uint64_t ps, fstHandle h, const unsigned char* value) {
          for (Changes* c : (*static_cast<decltype(wanted)*>(user))[h]) {
            c->push_back({ps, reinterpret_cast<const char*>(value)});
          }
        },
        &wanted, nullptr);
    return out;
  }

 private:
  void* reader_;
  std::vector<std::string> scope_;
  std::map<std::string, fstHandle> handles_;
};

/// Value of a signal just before `ps`.
inline const FstFile::Change* before(const FstFile::Changes& changes, uint64_t ps) {
  const FstFile::Change* last = nullptr;
  for (const auto& c : changes) {
    if (c.ps >= ps) break;
    last = &c;
  }
  return last;
}

}  // namespace rnic::test
