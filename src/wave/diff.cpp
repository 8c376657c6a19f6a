// SPDX-License-Identifier: Apache-2.0
#include "rnic/wave/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "pack.h"
#include "queue.h"
#include "rnic/core/error.h"
#include "rnic/core/names.h"
#include "rnic/wave/expr.h"

namespace rnic::wave {
namespace {

using detail::Queue;
using detail::Stopped;

constexpr int64_t kEver = std::numeric_limits<int64_t>::max();
constexpr uint32_t kNone = ~uint32_t{0};
constexpr size_t kBatchItems = 8192, kBatchChars = 1 << 20;

/// A signal that both files have, under all its names.
struct Pair {
  std::string name;
  std::vector<std::string> aliases;
  uint32_t width = 0;
  uint32_t ids[2] = {0, 0};
  size_t order = 0;  ///< in the file
};

/// A new value of a pair on one side.
struct Item {
  int64_t position = 0;  ///< ticks, cycle or event
  uint64_t time = 0;     ///< ticks of the file
  int64_t cycle = 0;
  uint32_t pair = 0, chars = 0;
};
struct Batch {
  std::vector<Item> items;
  std::vector<char> chars;
  bool last = false;
  int64_t end_position = 0;  ///< of the last batch: of the file's end
  uint64_t end = 0, events = 0, edges = 0;
  std::exception_ptr error;
};

bool starts(const std::string& s, const std::string& prefix) { return s.compare(0, prefix.size(), prefix) == 0; }

/// The names of one file.
class FileNames {
 public:
  FileNames(const Reader& wave, const DiffOptions& o, const std::string& strip) : wave_(wave), options_(o) {
    const std::string prefix = strip.empty() ? "" : strip + ".";
    for (size_t n = 0; n < wave.signals().size(); ++n) {
      const auto& s = wave.signals()[n];
      full_.emplace(s.name, n);
      if (!starts(s.name, prefix)) {
        ++outside_;
        continue;
      }
      const std::string name = s.name.substr(prefix.size());
      if (common_.emplace(name, n).second) ordered_.emplace_back(name, n);
    }
    if (ordered_.empty() && !wave.signals().empty()) {
      std::set<std::string> scopes;
      for (const auto& s : wave.signals()) {
        for (size_t dot = s.name.find('.'); dot != std::string::npos; dot = s.name.find('.', dot + 1)) {
          scopes.insert(s.name.substr(0, dot));
        }
      }
      throw InputError(wave.path(), 0, "",
                       fmt::format("there is no scope '{}' to strip; nearest: {}", strip,
                                   fmt::join(nearest(strip, {scopes.begin(), scopes.end()}), ", ")));
    }
  }
  const std::vector<std::pair<std::string, size_t>>& ordered() const { return ordered_; }
  const Signal* common(const std::string& name) const { return at(common_, name); }
  size_t outside() const { return outside_; }
  /// As a person may write it: stripped or not, of this file or of the other.
  const Signal* find(const std::string& name) const {
    if (const auto* s = common(name)) return s;
    for (const auto* strip : {&options_.strip_a, &options_.strip_b}) {
      if (strip->empty() || !starts(name, *strip + ".")) continue;
      if (const auto* s = common(name.substr(strip->size() + 1))) return s;
    }
    return at(full_, name);
  }
  const Signal& need(const std::string& name, const char* option) const {
    if (const auto* s = find(name)) return *s;
    throw InputError(wave_.path(), 0, option, fmt::format("there is no signal '{}'; nearest: {}", name, near(name)));
  }
  std::string near(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& [n, i] : ordered_) {
      all.push_back(n);
      (void)i;
    }
    return fmt::format("{}", fmt::join(nearest(name, all), ", "));
  }

 private:
  using Index = std::unordered_map<std::string, size_t>;
  const Signal* at(const Index& index, const std::string& name) const {
    const auto it = index.find(name);
    return it == index.end() ? nullptr : &wave_.signals()[it->second];
  }
  const Reader& wave_;
  const DiffOptions& options_;
  Index full_, common_;
  std::vector<std::pair<std::string, size_t>> ordered_;
  size_t outside_ = 0;
};

/// One file, read by a thread of its own: its changes in order of position.
class Side : public Visitor, public wave::Names {
 public:
  Side(Reader& wave, const FileNames& names, const DiffOptions& o, const std::vector<Pair>& pairs, int side,
       uint64_t ticks_a_tick)
      : wave_(wave), names_(names), options_(o), pairs_(pairs), scale_(ticks_a_tick), pairs_of_(wave.id_count()) {
    for (size_t n = 0; n < pairs.size(); ++n) {
      auto& list = pairs_of_[pairs[n].ids[side]];
      if (list.empty()) ids_.push_back(pairs[n].ids[side]);
      list.push_back(static_cast<uint32_t>(n));
    }
    if (!o.clock.empty()) {
      const auto& s = names.need(o.clock, "--clock");
      if (s.width != 1) {
        throw InputError(wave.path(), 0, "--clock", fmt::format("'{}' has {} bits; a clock has one", s.name, s.width));
      }
      clock_ = s.id;
      special(s);
    }
    if (!o.cycle.empty()) {
      const auto& s = names.need(o.cycle, "--cycle");
      if (s.width > 64) {
        throw InputError(wave.path(), 0, "--cycle", fmt::format("'{}' has {} bits, allowed: 64", s.name, s.width));
      }
      cycle_ = s.id;
      special(s);
    }
    if (o.by == DiffBy::kEvent) event_ = std::make_unique<Expr>(o.event, Place{"", 0, 0, "--event"}, *this);
    values_.resize(wave.id_count());
    for (const uint32_t id : ids_) {
      if (const uint32_t w = width(id); w != 0) values_[id].assign(w, 'x');
    }
    stamp_.resize(wave.id_count(), 0);
  }
  ~Side() override {
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }
  Side(const Side&) = delete;

  void start() {
    thread_ = std::thread([this] {
      Batch last;
      try {
        last.end = wave_.read(ids_, *this);
        flush_time();
        if (!batch_.items.empty()) queue_.push(std::move(batch_));
        last.end_position = options_.by == DiffBy::kTime ? scaled(last.end) : position_;
        last.events = events_;
        last.edges = static_cast<uint64_t>(edges_);
      } catch (const Stopped&) {
        return;
      } catch (...) {
        last.error = std::current_exception();
      }
      last.last = true;
      try {
        queue_.push(std::move(last));
      } catch (const Stopped&) {
      }
    });
  }

  /// The next item; nullptr at the end. Its characters: chars().
  const Item* peek() {
    while (at_ == in_.items.size() && !in_.last) {
      in_ = queue_.pop();
      at_ = 0;
      if (in_.error) std::rethrow_exception(in_.error);
    }
    return at_ < in_.items.size() ? &in_.items[at_] : nullptr;
  }
  const char* chars(const Item& i) const { return in_.chars.data() + i.chars; }
  void pop() { ++at_; }
  /// After the last item.
  const Batch& end() const { return in_; }
  uint64_t time_fs(uint64_t ticks) const { return ticks * wave_.tick_fs(); }

  // Of the visitor and of the expression; in the thread.
  void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t n) override {
    if (time != time_ || !begun_) {
      flush_time();
      time_ = time;
      begun_ = true;
    }
    if (stamp_[id] != serial_) {
      stamp_[id] = serial_;
      changed_.push_back(id);
      new_.resize(std::max(new_.size(), changed_.size()));
      slot_of_[id] = changed_.size() - 1;
    }
    new_[slot_of_[id]].assign(bits, n);
  }
  const Bound* find(const std::string& name) override {
    const auto* s = names_.find(name);
    if (s == nullptr) return nullptr;
    special(*s);
    const auto& w = words_.at(s->id);
    const size_t half = w.size() / 2;
    bound_.bits = {w.data(), w.data() + half, s->width};
    bound_.msb = s->msb;
    bound_.lsb = s->lsb;
    return &bound_;
  }
  [[noreturn]] void unknown(const std::string& name, const Place& place, size_t offset) override {
    (void)place;
    throw InputError(
        wave_.path(), 0, "--event",
        fmt::format("column {}: there is no signal '{}'; nearest: {}", offset + 1, name, names_.near(name)));
  }

 private:
  uint32_t width(uint32_t id) const { return pairs_of_[id].empty() ? 0 : pairs_[pairs_of_[id][0]].width; }
  int64_t scaled(uint64_t time) const {
    const auto v = static_cast<unsigned __int128>(time) * scale_;
    return v > static_cast<uint64_t>(kEver) ? kEver : static_cast<int64_t>(v);
  }
  /// A signal whose value is needed as a number.
  void special(const Signal& s) {
    const size_t n = (s.width + 63) / 64;
    if (words_.count(s.id) != 0) return;
    auto& w = words_[s.id];
    w.assign(2 * n, 0);
    for (size_t i = 0; i < n; ++i)
      w[n + i] = i + 1 == n && s.width % 64 != 0 ? (uint64_t{1} << s.width % 64) - 1 : ~uint64_t{0};
    if (pairs_of_[s.id].empty()) ids_.push_back(s.id);
  }
  const uint64_t* word(uint32_t id) const { return words_.at(id).data(); }

  void emit(uint32_t id, const std::string& value) {
    for (const uint32_t p : pairs_of_[id]) {
      batch_.items.push_back({position_, time_, label_, p, static_cast<uint32_t>(batch_.chars.size())});
      batch_.chars.insert(batch_.chars.end(), value.begin(), value.end());
    }
    if (batch_.items.size() >= kBatchItems || batch_.chars.size() >= kBatchChars) {
      queue_.push(std::move(batch_));
      batch_ = {};
    }
  }

  /// All changes of a time stamp are known.
  void flush_time() {
    if (!begun_) return;
    const bool sampled = options_.by != DiffBy::kTime && clock_ != kNone;
    // Without edges, the number of the last one is what the cycle signal was before it moved on.
    if (!sampled && cycle_ != kNone && stamp_[cycle_] == serial_) label_ = static_cast<int64_t>(word(cycle_)[0]);
    if (options_.by == DiffBy::kTime) {
      position_ = scaled(time_);
      for (size_t k = 0; k < changed_.size(); ++k) {
        if (!pairs_of_[changed_[k]].empty()) emit(changed_[k], new_[k]);
      }
    } else if (sampled && stamp_[clock_] == serial_) {
      const uint64_t* c = word(clock_);
      const char next = new_[slot_of_[clock_]][0];
      if (c[1] == 0 &&
          ((c[0] == 0 && next == '1' && options_.rising) || (c[0] == 1 && next == '0' && options_.falling))) {
        edge();
      }
    }
    for (size_t k = 0; k < changed_.size(); ++k) {
      const uint32_t id = changed_[k];
      const auto it = words_.find(id);
      if (it != words_.end()) {
        auto& w = it->second;
        detail::pack(new_[k].data(), static_cast<uint32_t>(new_[k].size()), w.data(), w.data() + w.size() / 2);
      }
      if (options_.by == DiffBy::kTime || pairs_of_[id].empty()) continue;
      values_[id].assign(new_[k]);
      if (!dirty_.count(id)) dirty_.insert(id);
    }
    changed_.clear();
    ++serial_;
    if (options_.by != DiffBy::kEvent || sampled) return;
    const bool now = truth(event_->sample()) == Truth::kTrue;
    if (now && !was_true_) occurrence();
    was_true_ = now;
  }

  /// The event, with the values that are to be compared.
  void occurrence() {
    position_ = static_cast<int64_t>(events_++);
    for (const uint32_t id : dirty_.list) emit(id, values_[id]);
    dirty_.clear();
  }

  /// Values before the changes of this time stamp are sampled.
  void edge() {
    const int64_t before = label_;
    label_ = cycle_ == kNone ? edges_ : static_cast<int64_t>(word(cycle_)[0]);
    ++edges_;
    if (options_.by == DiffBy::kEvent) {
      if (truth(event_->sample()) == Truth::kTrue) occurrence();
      return;
    }
    if (edges_ > 1 && label_ < before) {
      throw InputError(wave_.path(), 0, "--cycle",
                       fmt::format("'{}' falls from {} to {} at {:.3f} ns; a number that rises is needed",
                                   options_.cycle, before, label_, wave_.ns(time_)));
    }
    position_ = label_;
    for (const uint32_t id : dirty_.list) emit(id, values_[id]);
    dirty_.clear();
  }

  struct IdMap {  // of a change of the time stamp at hand to its place
    size_t& operator[](uint32_t id) {
      if (id >= v.size()) v.resize(id + 1);
      return v[id];
    }
    std::vector<size_t> v;
  };
  /// Ids in the order in which they came, each once.
  struct IdSet {
    bool count(uint32_t id) const { return id < in.size() && in[id]; }
    void insert(uint32_t id) {
      if (id >= in.size()) in.resize(id + 1);
      in[id] = 1;
      list.push_back(id);
    }
    void clear() {
      for (const uint32_t id : list) in[id] = 0;
      list.clear();
    }
    std::vector<char> in;
    std::vector<uint32_t> list;
  };

  Reader& wave_;
  const FileNames& names_;
  const DiffOptions& options_;
  const std::vector<Pair>& pairs_;
  uint64_t scale_;
  std::vector<std::vector<uint32_t>> pairs_of_;
  std::vector<uint32_t> ids_;
  uint32_t clock_ = kNone, cycle_ = kNone;
  std::unordered_map<uint32_t, std::vector<uint64_t>> words_;
  Bound bound_;
  std::unique_ptr<Expr> event_;

  std::vector<std::string> values_;  ///< by id; those that are sampled
  std::vector<uint64_t> stamp_;
  uint64_t serial_ = 1, time_ = 0;
  bool begun_ = false, was_true_ = false;
  std::vector<uint32_t> changed_;
  std::vector<std::string> new_;
  IdMap slot_of_;
  IdSet dirty_;
  int64_t position_ = 0, label_ = 0, edges_ = 0;
  uint64_t events_ = 0;
  Batch batch_;

  Queue<Batch> queue_;
  Batch in_;
  size_t at_ = 0;
  std::thread thread_;  ///< last: everything else is there before it starts
};

/// Value for people, out of one character a bit.
std::string shown(const std::string& bits) {
  const auto width = static_cast<uint32_t>(bits.size());
  const size_t n = (width + 63) / 64;
  std::vector<uint64_t> w(2 * n);
  detail::pack(bits.data(), width, w.data(), w.data() + n);
  return Bits{w.data(), w.data() + n, width}.text();
}

bool counts_up(const std::string& from, const std::string& to) {
  if (from.size() < 4 || from.size() > 64) return false;
  uint64_t a[2], b[2];
  detail::pack(from.data(), static_cast<uint32_t>(from.size()), &a[0], &a[1]);
  detail::pack(to.data(), static_cast<uint32_t>(to.size()), &b[0], &b[1]);
  return a[1] == 0 && b[1] == 0 && b[0] == a[0] + 1;
}

/// Compares as the items come in.
class Comparison {
 public:
  Comparison(const std::vector<Pair>& pairs, int64_t tolerance) : tolerance_(tolerance), states_(pairs.size()) {
    for (size_t n = 0; n < pairs.size(); ++n) {
      states_[n].last[0].assign(pairs[n].width, 'x');
      states_[n].last[1].assign(pairs[n].width, 'x');
    }
  }

  struct Found {
    uint32_t pair;
    int64_t position;
    uint64_t time;
    int64_t cycle;
    bool in_b;
    std::string a, b;
    bool counter;
    std::optional<int64_t> shift;
  };
  std::vector<Found> found;

  /// What a signal is when both files have begun.
  void begin_with(int side, const Item& i, const char* chars) {
    State& s = states_[i.pair];
    s.last[side].assign(chars, s.last[side].size());
    s.time[side] = i.time;
    s.cycle[side] = i.cycle;
  }
  void begun(int64_t position) {
    position_ = position;
    for (uint32_t p = 0; p < states_.size(); ++p) {
      State& s = states_[p];
      if (s.last[0] == s.last[1]) continue;
      s.first = position;
      if (tolerance_ == 0) {
        parted_from_the_beginning(p);
      } else {
        s.waiting = true;
        due_.emplace_back(position, p);
      }
    }
  }
  /// Items come in order of position, both sides together.
  void take(int side, const Item& i, const char* chars) {
    if (i.position != position_) settle(i.position);
    State& s = states_[i.pair];
    std::string& last = s.last[side];
    if (std::memcmp(last.data(), chars, last.size()) == 0) return;
    if (s.found != kNone) {  // parted already: does the one that lags behind follow?
      if (s.lagging != side) return;
      Found& f = found[s.found];
      if (std::memcmp(s.wanted.data(), chars, last.size()) == 0)
        f.shift = side == 1 ? i.position - f.position : f.position - i.position;
      s.lagging = -1;
      return;
    }
    if (tolerance_ > 0) {
      match(side, i, std::string(chars, last.size()));
      return;
    }
    if (!s.touched) {
      s.touched = true;
      touched_.push_back(i.pair);
      s.before = s.last[0];
      s.moved[0] = s.moved[1] = false;
    }
    last.assign(chars, last.size());
    s.moved[side] = true;
    s.time[side] = i.time;
    s.cycle[side] = i.cycle;
  }
  /// A side has no items behind this position.
  void ended(int side, int64_t position) { ends_[side] = position; }
  /// An item that lies behind the end of the other side, whose last changes it may still belong to.
  void take_late(int side, const Item& i, const char* chars) {
    if (i.position != position_) settle(i.position);
    State& s = states_[i.pair];
    if (s.found != kNone || s.waiting || s.open.empty() || s.open_side == side) return;
    match(side, i, std::string(chars, s.last[side].size()));
  }
  /// All before `next` have come.
  void settle(int64_t next) {
    for (const uint32_t p : touched_) {
      State& s = states_[p];
      s.touched = false;
      if (s.last[0] == s.last[1]) continue;
      const int who = s.moved[0] ? 0 : 1;
      part(p, position_, s.time[who], s.cycle[who], who, s.last[0], s.last[1], s.before);
      if (s.moved[0] != s.moved[1]) {
        s.lagging = static_cast<int8_t>(1 - who);
        s.wanted = s.last[who];
      }
    }
    touched_.clear();
    while (!due_.empty() && due_.front().first + tolerance_ < next) {
      const auto [position, p] = due_.front();
      due_.pop_front();
      State& s = states_[p];
      // Where a file has ended, its counterpart may lie behind the end: no difference then.
      const auto decided = [&](int other) { return position <= ends_[other] - tolerance_; };
      if (s.waiting) {
        s.waiting = false;
        if (decided(0) && decided(1)) parted_from_the_beginning(p);
        continue;
      }
      if (s.found != kNone || s.open.empty() || s.open.front().item.position != position) continue;
      if (decided(1 - s.open_side)) {
        missing(p);
      } else {
        s.open.erase(s.open.begin());
      }
    }
    position_ = next;
  }

 private:
  struct Change {
    Item item;
    std::string value;
  };
  struct State {
    std::string last[2];
    std::string before, wanted;
    uint32_t found = kNone;
    int8_t lagging = -1;
    bool touched = false, moved[2] = {false, false};
    uint64_t time[2] = {0, 0};
    int64_t cycle[2] = {0, 0};
    bool waiting = false;  ///< not the same at the beginning, which tolerance may still excuse
    int64_t first = 0;
    int8_t open_side = 0;
    std::vector<Change> open;  ///< changes of one side that the other has not made
  };

  void part(uint32_t p, int64_t position, uint64_t time, int64_t cycle, int who, const std::string& a,
            const std::string& b, const std::string& before) {
    State& s = states_[p];
    s.found = static_cast<uint32_t>(found.size());
    const bool counter = counts_up(before, a) || counts_up(before, b);
    found.push_back({p, position, time, cycle, who == 1, shown(a), shown(b), counter, {}});
    s.open.clear();
    s.open.shrink_to_fit();
  }
  void parted_from_the_beginning(uint32_t p) {
    State& s = states_[p];
    const int who = s.time[1] > s.time[0] ? 1 : 0;
    part(p, s.first, s.time[who], s.cycle[who], who, s.last[0], s.last[1], s.last[0]);
  }
  void match(int side, const Item& i, std::string value) {
    State& s = states_[i.pair];
    s.last[side] = value;
    if (s.waiting) {
      s.waiting = s.last[0] != s.last[1];
      return;
    }
    if (s.open.empty() || s.open_side == side) {
      s.open_side = static_cast<int8_t>(side);
      s.open.push_back({i, std::move(value)});
      due_.emplace_back(i.position, i.pair);
      return;
    }
    const Change& other = s.open.front();
    if (other.value == value && i.position - other.item.position <= tolerance_) {
      s.open.erase(s.open.begin());
      return;
    }
    if (i.position - other.item.position > tolerance_) {
      missing(i.pair);
      return;
    }
    const Change c = other;
    const auto& a = side == 0 ? value : c.value;
    const auto& b = side == 0 ? c.value : value;
    part(i.pair, c.item.position, c.item.time, c.item.cycle, 1 - side, a, b, a);
  }
  /// The oldest change of one side is not made on the other.
  void missing(uint32_t p) {
    State& s = states_[p];
    const Change c = s.open.front();
    const int who = s.open_side;
    const std::string other = s.last[1 - who];
    part(p, c.item.position, c.item.time, c.item.cycle, who, who == 0 ? c.value : other, who == 0 ? other : c.value,
         other);
    states_[p].lagging = static_cast<int8_t>(1 - who);
    states_[p].wanted = c.value;
  }

  int64_t tolerance_, position_ = std::numeric_limits<int64_t>::min();
  int64_t ends_[2] = {kEver, kEver};
  std::vector<State> states_;
  std::vector<uint32_t> touched_;
  std::deque<std::pair<int64_t, uint32_t>> due_;
};

bool looks_like_clock(const std::string& name) {
  std::string s = name.substr(name.rfind('.') + 1);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"clk", "clock", "ck"}) {
    const std::string w(word);
    for (size_t at = s.find(w); at != std::string::npos; at = s.find(w, at + 1)) {
      const bool left = at == 0 || s[at - 1] == '_';
      const size_t end = at + w.size();
      const bool right = end == s.size() || s[end] == '_' || std::isdigit(static_cast<unsigned char>(s[end]));
      if (left && right) return true;
    }
  }
  return false;
}

/// Scopes above a signal. The fields of a struct stand in a scope, too, which is no level of the hierarchy.
unsigned depth_of(const std::string& name) {
  unsigned n = 0;
  size_t from = 0;
  for (size_t dot; (dot = name.find('.', from)) != std::string::npos; from = dot + 1) {
    const std::string scope = name.substr(from, dot - from);
    const std::string tail = scope.size() > 2 ? scope.substr(scope.size() - 2) : "";
    n += tail != "_i" && tail != "_o" && tail != "_q" && tail != "_d";
  }
  return n;
}
/// Registers come before what is made of them, outputs before the inputs that they drive.
unsigned rank_of(const std::string& name) {
  static constexpr const char* kEnds[] = {"_q", "_r", "_reg", "_ff", "", "_o", "_out", "_i", "_in", "_d", "_next"};
  unsigned rank = 4;
  for (unsigned n = 0; n < std::size(kEnds); ++n) {
    const std::string end = kEnds[n];
    // Of a struct the scope tells it: rsp_q.data.
    for (const auto& part :
         {name.substr(name.rfind('.') + 1), name.substr(0, std::min(name.rfind('.'), name.size()))}) {
      if (n != 4 && part.size() > end.size() && part.compare(part.size() - end.size(), end.size(), end) == 0) return n;
    }
  }
  return rank;
}

/// Byte for byte.
bool same_files(const std::string& a, const std::string& b) {
  std::error_code ec;
  if (std::filesystem::equivalent(a, b, ec)) return true;
  const auto size_a = std::filesystem::file_size(a, ec), size_b = std::filesystem::file_size(b, ec);
  if (ec || size_a != size_b) return false;
  const auto close = [](std::FILE* f) {
    if (f != nullptr) std::fclose(f);
  };
  const std::unique_ptr<std::FILE, decltype(close)> fa(std::fopen(a.c_str(), "rb"), close),
      fb(std::fopen(b.c_str(), "rb"), close);
  if (!fa || !fb) return false;
  std::vector<char> ca(1 << 18), cb(1 << 18);
  for (;;) {
    const size_t na = std::fread(ca.data(), 1, ca.size(), fa.get()), nb = std::fread(cb.data(), 1, cb.size(), fb.get());
    if (na != nb || std::memcmp(ca.data(), cb.data(), na) != 0) return false;
    if (na == 0) return true;
  }
}

}  // namespace

DiffReport diff(Reader& a, Reader& b, const DiffOptions& o) {
  DiffReport r;
  r.a = a.path();
  r.b = b.path();
  r.by = o.by;
  r.tick_a_fs = a.tick_fs();
  r.tick_b_fs = b.tick_fs();
  r.common = o.common;
  if (o.by == DiffBy::kCycle && o.clock.empty()) {
    throw InputError("", 0, "--clock", "is missing: by cycle, values are sampled at the edges of a clock");
  }
  if (o.by == DiffBy::kEvent && o.event.empty()) throw InputError("", 0, "--event", "is missing: by event needs it");
  const FileNames names_a(a, o, o.strip_a), names_b(b, o, o.strip_b);
  if (names_a.outside() + names_b.outside() != 0) {
    r.notes.push_back(fmt::format("{} signals of A and {} of B lie outside of the scopes that are stripped",
                                  names_a.outside(), names_b.outside()));
  }

  // What is compared with what.
  std::vector<uint64_t> hits_only(o.only.size()), hits_ignore(o.ignore.size());
  const auto wanted = [&](const std::string& name) {
    bool yes = o.only.empty();
    for (size_t n = 0; n < o.only.size(); ++n) {
      if (!fits(o.only[n], name)) continue;
      ++hits_only[n];
      yes = true;
    }
    for (size_t n = 0; n < o.ignore.size(); ++n) {
      if (!fits(o.ignore[n], name)) continue;
      ++hits_ignore[n];
      yes = false;
    }
    return yes;
  };
  const Signal* clock[2] = {o.clock.empty() ? nullptr : names_a.find(o.clock),
                            o.clock.empty() ? nullptr : names_b.find(o.clock)};
  std::vector<Pair> pairs;
  std::unordered_map<uint64_t, size_t> known;
  for (const auto& [name, n] : names_a.ordered()) {
    if (!wanted(name)) continue;
    const Signal& sa = a.signals()[n];
    const Signal* sb = names_b.common(name);
    if (sb == nullptr) {
      r.only_a.push_back(name);
      continue;
    }
    if (sa.width != sb->width) {
      r.widths.push_back(fmt::format("{}: {} bits in A, {} in B", name, sa.width, sb->width));
      continue;
    }
    // Sampled at its own edges, a clock is always the same.
    if (o.by != DiffBy::kTime && clock[0] != nullptr && clock[1] != nullptr && sa.id == clock[0]->id &&
        sb->id == clock[1]->id) {
      continue;
    }
    const auto [it, fresh] = known.emplace(uint64_t{sa.id} << 32 | sb->id, pairs.size());
    if (!fresh) {
      pairs[it->second].aliases.push_back(name);
      continue;
    }
    Pair p;
    p.name = name;
    p.width = sa.width;
    p.ids[0] = sa.id;
    p.ids[1] = sb->id;
    p.order = n;
    pairs.push_back(std::move(p));
  }
  for (const auto& [name, n] : names_b.ordered()) {
    (void)n;
    if (wanted(name) && names_a.common(name) == nullptr) r.only_b.push_back(name);
  }
  for (size_t n = 0; n < o.only.size(); ++n) {
    if (hits_only[n] == 0) {
      throw InputError("", 0, "--only",
                       fmt::format("nothing matches '{}'; nearest: {}", o.only[n], names_a.near(o.only[n])));
    }
  }
  for (size_t n = 0; n < o.ignore.size(); ++n) {
    if (hits_ignore[n] == 0) r.notes.push_back(fmt::format("--ignore '{}' fits no signal", o.ignore[n]));
  }
  // The name that stands for a signal is the deepest one: there it is made.
  for (auto& p : pairs) {
    const auto key = [](const std::string& s) { return std::make_tuple(~depth_of(s), rank_of(s)); };
    for (auto& alias : p.aliases) {
      if (key(alias) < key(p.name)) std::swap(alias, p.name);
    }
  }
  r.compared = pairs.size();
  const uint64_t tick = std::gcd(a.tick_fs(), b.tick_fs());
  Side side_a(a, names_a, o, pairs, 0, a.tick_fs() / tick), side_b(b, names_b, o, pairs, 1, b.tick_fs() / tick);
  if (pairs.empty() && (o.common || (r.only_a.empty() && r.only_b.empty() && r.widths.empty()))) {
    throw InputError("", 0, "", "there is no signal to compare: the files have none in common, or all are ignored");
  }

  if (same_files(a.path(), b.path()) && o.strip_a == o.strip_b) {
    r.notes.emplace_back("the files are the same, byte for byte");
    return r;
  }
  const uint64_t tolerance = o.by == DiffBy::kTime ? o.tolerance / tick : o.tolerance;
  Comparison comparison(pairs, static_cast<int64_t>(std::min<uint64_t>(tolerance, uint64_t{1} << 62)));
  side_a.start();
  side_b.start();
  Side* sides[2] = {&side_a, &side_b};
  // Where a file has ended, what the other still has cannot be compared.
  const auto reach = [&](const Side& s) {
    const int64_t e = s.end().end_position;
    return e > kEver - static_cast<int64_t>(std::min<uint64_t>(tolerance, uint64_t{1} << 61))
               ? kEver
               : e + static_cast<int64_t>(tolerance);
  };
  // Compared is what both files cover: one may begin later.
  if (side_a.peek() != nullptr && side_b.peek() != nullptr) {
    const int64_t start = std::max(side_a.peek()->position, side_b.peek()->position);
    for (const int s : {0, 1}) {
      for (const Item* i; (i = sides[s]->peek()) != nullptr && i->position <= start; sides[s]->pop()) {
        comparison.begin_with(s, *i, sides[s]->chars(*i));
      }
    }
    comparison.begun(start);
  }
  for (;;) {
    const Item* items[2] = {side_a.peek(), side_b.peek()};
    if (items[0] == nullptr && items[1] == nullptr) break;
    const int next = items[0] == nullptr || (items[1] != nullptr && items[1]->position < items[0]->position) ? 1 : 0;
    const Item& i = *items[next];
    if (items[1 - next] == nullptr && i.position > reach(*sides[1 - next])) {
      const char* who = next == 0 ? "A" : "B";
      const auto& end = sides[1 - next]->end();
      r.length = fmt::format("{} goes on after the end of {} ({:.3f} ns): the first that changes is {} at {:.3f} ns",
                             who, next == 0 ? "B" : "A", static_cast<double>(sides[1 - next]->time_fs(end.end)) * 1e-6,
                             pairs[i.pair].name, static_cast<double>(sides[next]->time_fs(i.time)) * 1e-6);
      break;
    }
    for (const int s : {0, 1}) {
      if (items[s] == nullptr) comparison.ended(s, sides[s]->end().end_position);
    }
    if (items[1 - next] == nullptr && i.position > sides[1 - next]->end().end_position) {
      comparison.take_late(next, i, sides[next]->chars(i));
    } else {
      comparison.take(next, i, sides[next]->chars(i));
    }
    sides[next]->pop();
  }
  for (const int s : {0, 1}) {
    if (sides[s]->peek() == nullptr) comparison.ended(s, sides[s]->end().end_position);
  }
  comparison.settle(kEver);
  for (int s : {0, 1}) {
    if (sides[s]->peek() != nullptr) continue;  // left off in the middle
    if (o.by != DiffBy::kTime && !o.clock.empty() && sides[s]->end().edges == 0) {
      throw InputError(s == 0 ? a.path() : b.path(), 0, "--clock",
                       fmt::format("'{}' has no edge to sample at", o.clock));
    }
    (s == 0 ? r.end_a_fs : r.end_b_fs) = sides[s]->time_fs(sides[s]->end().end);
  }
  if (o.by == DiffBy::kEvent && side_a.peek() == nullptr && side_b.peek() == nullptr) {
    const uint64_t na = side_a.end().events, nb = side_b.end().events;
    if (na == 0 && nb == 0) r.notes.emplace_back("the event never happens: nothing was compared");
    if (na != nb && r.length.empty()) r.length = fmt::format("A has {} events, B has {}", na, nb);
  }

  auto& found = comparison.found;
  const auto order = [&](const Comparison::Found& f) {
    const Pair& p = pairs[f.pair];
    const unsigned kind = p.width == 1 && looks_like_clock(p.name) ? 2 : f.counter ? 1 : 0;
    return std::make_tuple(f.position, kind, ~depth_of(p.name), rank_of(p.name), p.order);
  };
  std::sort(found.begin(), found.end(), [&](const auto& x, const auto& y) { return order(x) < order(y); });
  for (const auto& f : found) {
    Difference d;
    d.name = pairs[f.pair].name;
    d.aliases = pairs[f.pair].aliases;
    d.in_b = f.in_b;
    d.time_fs = sides[f.in_b]->time_fs(f.time);
    if (!o.cycle.empty() || (o.by != DiffBy::kTime && !o.clock.empty())) d.cycle = f.cycle;
    if (o.by == DiffBy::kEvent) d.event = static_cast<uint64_t>(f.position);
    d.a = f.a;
    d.b = f.b;
    if (f.shift) d.shift = o.by == DiffBy::kTime ? *f.shift * static_cast<int64_t>(tick) : *f.shift;
    r.differences.push_back(std::move(d));
  }
  return r;
}

}  // namespace rnic::wave
