// SPDX-License-Identifier: Apache-2.0
// Inside of wavecheck: what the kinds of rules are made of.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rnic/wave/check.h"
#include "rnic/wave/expr.h"

namespace rnic::wave::detail {

enum class KeyType {
  kExpr,
  kExprs,
  kSignal,
  kInteger,
  kNumber,
  kText,
  kFlag,
  kList,    ///< expressions whose stars each stand for themselves
  kString,  ///< any text
  kMap,     ///< of texts to texts
};

struct Key {
  const char* name;
  KeyType type;
  bool required = false;
  const char* choices = nullptr;  ///< of a text, separated by '|'
};

/// A sample: the edge at `time`, and what was before it.
struct Tick {
  uint64_t time = 0;
  int64_t cycle = 0;
  uint64_t sample = 0;  ///< number of the edge, from the beginning of the wave
};

/// A rule's values, checked against its kind's keys and bound to the wave.
class Settings {
 public:
  std::map<std::string, std::vector<std::unique_ptr<Expr>>> exprs;
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
  std::map<std::string, bool> flags;
  std::map<std::string, bool> watched;  ///< signals whose changes are events
  double tick_ns = 1;
  std::function<void(const std::string& key, const std::string& what)> fail;  ///< throws InputError

  Expr* expr(const std::string& key) const {
    const auto it = exprs.find(key);
    return it == exprs.end() ? nullptr : it->second[0].get();
  }
  std::optional<double> number(const std::string& key) const {
    const auto it = numbers.find(key);
    if (it == numbers.end()) return std::nullopt;
    return it->second;
  }
  std::string text(const std::string& key, const char* otherwise) const {
    const auto it = texts.find(key);
    return it == texts.end() ? otherwise : it->second;
  }
  bool flag(const std::string& key, bool otherwise) const {
    const auto it = flags.find(key);
    return it == flags.end() ? otherwise : it->second;
  }
};

/// First in, first out, in memory that is kept; entries in the middle can be taken out.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[(head_ + i) % data_.size()]; }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  void push(const T& t) {
    if (size_ == data_.size()) {
      std::vector<T> more(std::max<size_t>(16, 2 * size_));
      for (size_t i = 0; i < size_; ++i) more[i] = (*this)[i];
      data_.swap(more);
      head_ = 0;
    }
    ++size_;
    back() = t;
  }
  void pop() {
    head_ = (head_ + 1) % data_.size();
    --size_;
  }
  void erase(size_t i) {
    for (; i > 0; --i) (*this)[i] = (*this)[i - 1];
    pop();
  }
  void clear() { size_ = 0; }

 private:
  std::vector<T> data_;
  size_t head_ = 0, size_ = 0;
};

/// A copy of a value, for later comparison.
class Kept {
 public:
  void keep(const Bits& b) {
    if (b.width != width_) {
      data_.resize(size_t{2} * b.words());
      width_ = b.width;
    }
    if (width_ <= 64) {
      data_[0] = b.v[0];
      data_[1] = b.x[0];
      return;
    }
    std::memcpy(data_.data(), b.v, b.words() * 8);
    std::memcpy(data_.data() + b.words(), b.x, b.words() * 8);
  }
  bool same(const Bits& b) const { return bits().same(b); }
  Bits bits() const { return {data_.data(), data_.data() + data_.size() / 2, width_}; }

 private:
  std::vector<uint64_t> data_;
  uint32_t width_ = 0;
};

/// Samples one after the other, for rules that can look at many together: bit n of a row belongs to sample n.
class Samples {
 public:
  using Row = std::vector<uint64_t>;
  virtual ~Samples() = default;
  virtual size_t count() const = 0;
  /// Of a signal of one bit. False when it is unknown somewhere.
  virtual bool values(const Expr& signal, Row& out) = 0;
  /// Sets the bits of samples that may find the signal changed since the sample before.
  virtual void changes(const Expr& signal, Row& out) = 0;
};

/// A kind of rule. All its expressions have been sampled when step() is called.
class Rule {
 public:
  virtual ~Rule() = default;
  /// A sample outside of reset. True when the next sample matters even if no signal changes.
  virtual bool step(const Tick& t) = 0;
  /// Whether it is worth while to call leap().
  virtual bool leaps() const { return false; }
  /// All these samples, outside of reset, instead of a step at each. False when one of them may fail: then nothing has
  /// been done, and the steps are made.
  virtual bool leap(Samples&) { return false; }
  /// After a leap, when the expressions are as at the last of its samples. Returns what step() would have.
  virtual bool landed() { return false; }
  /// A sample in reset.
  virtual bool reset(const Tick&) { return false; }
  /// A feed has news for this sample, whose step is still to come.
  virtual void news(const Tick&) {}
  /// The signal of a kSignal key has changed, at this very time.
  virtual void event(const std::string& /*key*/, const Tick&) {}
  virtual void finish(const Tick&) {}

  Verdict& verdict() { return verdict_; }

 protected:
  template <class Text>
  [[gnu::noinline, gnu::cold]] void fail(const Tick& t, Text&& text) {
    ++verdict_.count;
    if (verdict_.first.size() < 5) verdict_.first.push_back({t.time, t.cycle, t.sample, text()});
  }
  void incomplete(const std::string& why) { verdict_.detail = why; }
  void trigger() { ++verdict_.triggers; }
  static bool is(const Expr* e) { return truth(e->last()) == Truth::kTrue; }
  static bool allowed(const Expr* when) { return when == nullptr || is(when); }

  Verdict verdict_;
};

std::unique_ptr<Rule> make_golden(const Settings& s);

struct Kind {
  const char* name;
  std::vector<Key> keys;
  std::unique_ptr<Rule> (*make)(const Settings&);
  const char* trigger;  ///< what never happened when the rule is vacuous
};

const std::vector<Kind>& kinds();

}  // namespace rnic::wave::detail
