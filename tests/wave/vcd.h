// SPDX-License-Identifier: Apache-2.0
// Small waves: one value a clock cycle, written as VCD.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace rnic::test {

/// A file in a directory of this process, gone with it.
class TempFile {
 public:
  TempFile(const std::string& name, const std::string& text) {
    dir_ = std::filesystem::temp_directory_path() / fmt::format("rnic_wave_{}_{}", getpid(), counter()++);
    std::filesystem::create_directories(dir_);
    path_ = (dir_ / name).string();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TempFile() {
    std::error_code ec;
    std::filesystem::remove_all(dir_, ec);
  }
  TempFile(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  static int& counter() {
    static int n = 0;
    return n;
  }
  std::filesystem::path dir_;
  std::string path_;
};

/// Values of cycle i hold from 10 i ns on and are sampled by the rising edge at 10 i + 5 ns. rst is 1 in cycle 0.
class SmallWave {
 public:
  /// One character a cycle: 0 1 x z.
  SmallWave& bit(const std::string& name, const std::string& values) {
    std::vector<std::string> v;
    for (const char c : values) v.emplace_back(1, c);
    return add(name, 1, v);
  }
  SmallWave& number(const std::string& name, unsigned width, const std::vector<uint64_t>& values) {
    std::vector<std::string> v;
    for (const uint64_t n : values) {
      std::string s;
      for (unsigned i = width; i-- > 0;) s += i < 64 && (n >> i & 1) ? '1' : '0';
      v.push_back(s);
    }
    return add(name, width, v);
  }
  std::string vcd() const {
    std::string s = "$timescale 1ns $end\n$scope module top $end\n$var wire 1 ! clk $end\n$var wire 1 \" rst $end\n";
    for (size_t i = 0; i < signals_.size(); ++i) {
      const auto& x = signals_[i];
      std::vector<std::string> path;
      std::string rest = x.name;
      for (size_t dot; (dot = rest.find('.')) != std::string::npos; rest = rest.substr(dot + 1)) {
        path.push_back(rest.substr(0, dot));
      }
      for (const auto& p : path) s += fmt::format("$scope module {} $end\n", p);
      s += fmt::format("$var wire {} {} {}{} $end\n", x.width, id(i), rest,
                       x.width == 1 ? "" : fmt::format(" [{}:0]", x.width - 1));
      for (size_t n = 0; n < path.size(); ++n) s += "$upscope $end\n";
    }
    s += "$upscope $end\n$enddefinitions $end\n";
    for (size_t t = 0; t < cycles_; ++t) {
      s += fmt::format("#{}\n0!\n{}\"\n", 10 * t, t == 0 ? 1 : 0);
      for (size_t i = 0; i < signals_.size(); ++i) {
        const auto& v = signals_[i].values;
        const std::string& now = v[std::min(t, v.size() - 1)];
        if (t != 0 && now == v[std::min(t - 1, v.size() - 1)]) continue;
        s += signals_[i].width == 1 ? now + id(i) + "\n" : "b" + now + " " + id(i) + "\n";
      }
      s += fmt::format("#{}\n1!\n", 10 * t + 5);
    }
    return s;
  }

 private:
  struct Signal {
    std::string name;
    unsigned width;
    std::vector<std::string> values;
  };
  static std::string id(size_t i) { return std::string(1, static_cast<char>('a' + i % 26)) + (i < 26 ? "" : "b"); }
  SmallWave& add(const std::string& name, unsigned width, std::vector<std::string> values) {
    cycles_ = std::max(cycles_, values.size());
    signals_.push_back({name, width, std::move(values)});
    return *this;
  }
  std::vector<Signal> signals_;
  size_t cycles_ = 0;
};

}  // namespace rnic::test
