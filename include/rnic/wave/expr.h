// SPDX-License-Identifier: Apache-2.0
// Expressions over sampled signals, four-state. docs/wavecheck.md has the language.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rnic::wave {

/// Where a text stands, for messages.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;  ///< of the first character
  std::string key;

  /// "file:line:column: key 'k': what", `offset` characters into the text. Throws InputError.
  [[noreturn]] void fail(size_t offset, const std::string& what) const;
};

/// Bits of a value: bit i is bit i % 64 of word i / 64. A bit is 0 or 1 where `x` is 0, else unknown (v 0: x, v 1: z).
struct Bits {
  const uint64_t* v = nullptr;
  const uint64_t* x = nullptr;
  uint32_t width = 0;

  uint32_t words() const { return (width + 63) / 64; }
  bool known() const;
  uint64_t low() const { return v[0]; }
  bool same(const Bits& other) const {  ///< also in x and z
    if (width != other.width) return false;
    if (width <= 64) return ((v[0] ^ other.v[0]) | (x[0] ^ other.x[0])) == 0;
    return std::memcmp(v, other.v, words() * 8) == 0 && std::memcmp(x, other.x, words() * 8) == 0;
  }
  std::string text() const;  ///< hexadecimal, without leading zeros; binary where a digit is partly unknown
};

enum class Truth { kFalse, kTrue, kUnknown };
inline Truth truth(const Bits& b) {
  if (b.width <= 64) return (b.v[0] & ~b.x[0]) != 0 ? Truth::kTrue : b.x[0] != 0 ? Truth::kUnknown : Truth::kFalse;
  bool unknown = false;
  for (uint32_t i = 0; i < b.words(); ++i) {
    if (b.v[i] & ~b.x[i]) return Truth::kTrue;
    unknown = unknown || b.x[i] != 0;
  }
  return unknown ? Truth::kUnknown : Truth::kFalse;
}

/// Finds what a name stands for.
class Names {
 public:
  struct Bound {
    Bits bits;  ///< where the current value is kept
    int32_t msb = 0, lsb = 0;
  };
  virtual ~Names() = default;
  virtual const Bound* find(const std::string& name) = 0;
  /// Value of a name that stands for a number; asked before find().
  virtual std::optional<uint64_t> constant(const std::string& /*name*/, const Place&, size_t /*offset*/) {
    return std::nullopt;
  }
  /// Throws InputError with the nearest names.
  [[noreturn]] virtual void unknown(const std::string& name, const Place& place, size_t offset) = 0;
};

class Expr {
 public:
  /// Throws InputError with line and column.
  Expr(const std::string& text, const Place& place, Names& names);
  ~Expr();
  Expr(Expr&&) noexcept;
  Expr& operator=(Expr&&) noexcept;

  /// Value of the coming sample; to be called once a sample. Valid until the next call.
  Bits sample() { return computed_ ? compute() : result_; }
  Truth sample_truth() { return truth(sample()); }
  /// The value that sample() gave last.
  const Bits& last() const { return result_; }
  /// More than a name or a number, whose last() is what it is at present.
  bool computed() const { return computed_; }
  /// Nothing but a name.
  bool is_signal() const { return signal_; }
  /// After so many samples without a change of a signal the value stays.
  unsigned settle() const { return settle_; }
  const std::string& text() const { return text_; }
  /// What text() shall say: globs replaced by what they stand for.
  void set_text(std::string text) { text_ = std::move(text); }

 private:
  friend class Parser;
  struct Node;
  Bits compute();

  std::string text_;
  std::vector<Node> nodes_;  ///< operands stand before their operators
  unsigned settle_ = 0;
  Bits result_;  ///< of the last node
  bool computed_ = false, signal_ = false;
};

/// The names in an expression and where they begin; throws InputError for characters that belong to no expression.
std::vector<std::pair<std::string, size_t>> names_in(const std::string& text, const Place& place);

}  // namespace rnic::wave
