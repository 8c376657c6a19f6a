// SPDX-License-Identifier: Apache-2.0
#include "rnic/wave/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "rnic/core/error.h"

namespace rnic::wave {

void Place::fail(size_t offset, const std::string& what) const {
  std::string s = file;
  if (line != 0) s += fmt::format(":{}:{}", line, column + offset);
  if (!s.empty()) s += ": ";
  if (!key.empty()) s += fmt::format("key '{}': ", key);
  throw InputError(s + what);
}

bool Bits::known() const {
  for (uint32_t i = 0; i < words(); ++i) {
    if (x[i] != 0) return false;
  }
  return true;
}

std::string Bits::text() const {
  if (width == 0) return "-";
  const auto bit = [&](uint32_t i) {
    const uint64_t a = v[i / 64] >> (i % 64) & 1, b = x[i / 64] >> (i % 64) & 1;
    return b == 0 ? static_cast<char>('0' + a) : a == 0 ? 'x' : 'z';
  };
  std::string out;
  bool partly = false;
  for (uint32_t digit = (width + 3) / 4; digit-- > 0;) {
    unsigned value = 0, x_count = 0, z_count = 0, n = 0;
    for (uint32_t i = digit * 4; i < std::min(width, digit * 4 + 4); ++i, ++n) {
      const char c = bit(i);
      if (c == 'x') ++x_count;
      if (c == 'z') ++z_count;
      if (c == '1') value |= 1u << (i % 4);
    }
    if (x_count == n) {
      out += 'x';
    } else if (z_count == n) {
      out += 'z';
    } else if (x_count + z_count != 0) {
      partly = true;
      out += '?';
    } else {
      out += "0123456789abcdef"[value];
    }
  }
  if (partly && width <= 64) {
    out.clear();
    for (uint32_t i = width; i-- > 0;) out += bit(i);
    return "'b" + out;
  }
  const size_t first = out.find_first_not_of('0');
  return first == std::string::npos ? "0" : out.substr(first);
}

namespace {

enum class Op {
  kConst,
  kSignal,
  kSlice,
  kInvert,
  kNot,
  kNegate,
  kAllOf,
  kAnyOf,
  kParity,
  kMul,
  kDiv,
  kMod,
  kAdd,
  kSub,
  kShl,
  kShr,
  kLt,
  kLe,
  kGt,
  kGe,
  kEq,
  kNe,
  kAnd,
  kXor,
  kOr,
  kLogicalAnd,
  kLogicalOr,
  kPast,
  kRose,
  kFell,
  kChanged,
  kStable,
  kOnehot,
  kOnehot0,
  kIsUnknown,
  kCountOnes,
};

struct Function {
  const char* name;
  Op op;
};
constexpr Function kFunctions[] = {
    {"past", Op::kPast},       {"rose", Op::kRose},           {"fell", Op::kFell},
    {"changed", Op::kChanged}, {"stable", Op::kStable},       {"onehot", Op::kOnehot},
    {"onehot0", Op::kOnehot0}, {"isunknown", Op::kIsUnknown}, {"countones", Op::kCountOnes}};

struct Binary {
  const char* text;
  Op op;
  int level;  ///< SystemVerilog's order
};
// Longer ones first.
constexpr Binary kBinary[] = {
    {"||", Op::kLogicalOr, 1}, {"&&", Op::kLogicalAnd, 2},  {"==", Op::kEq, 6},  {"!=", Op::kNe, 6},
    {"<=", Op::kLe, 7},        {">=", Op::kGe, 7},          {"<<", Op::kShl, 8}, {">>", Op::kShr, 8},
    {"or", Op::kLogicalOr, 1}, {"and", Op::kLogicalAnd, 2}, {"|", Op::kOr, 3},   {"^", Op::kXor, 4},
    {"&", Op::kAnd, 5},        {"<", Op::kLt, 7},           {">", Op::kGt, 7},   {"+", Op::kAdd, 9},
    {"-", Op::kSub, 9},        {"*", Op::kMul, 10},         {"/", Op::kDiv, 10}, {"%", Op::kMod, 10}};

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '\\'; }
bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }

struct Token {
  enum Kind { kEnd, kName, kNumber, kSymbol } kind = kEnd;
  std::string text;
  size_t at = 0;
  bool quoted = false;
};

class Lexer {
 public:
  Lexer(const std::string& text, const Place& place) : text_(text), place_(place) {}

  std::vector<Token> all() {
    std::vector<Token> out;
    for (;;) {
      while (i_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[i_]))) ++i_;
      Token t;
      t.at = i_;
      if (i_ == text_.size()) {
        out.push_back(t);
        return out;
      }
      const char c = text_[i_];
      const bool operand = out.empty() ||
                           (out.back().kind == Token::kSymbol && out.back().text != ")" && out.back().text != "]") ||
                           (out.back().kind == Token::kName && is_word(out.back()));
      if (c == '`') {
        const size_t end = text_.find('`', i_ + 1);
        if (end == std::string::npos) place_.fail(i_, "the name that begins with ` has no second `");
        t.kind = Token::kName;
        t.quoted = true;
        t.text = text_.substr(i_ + 1, end - i_ - 1);
        i_ = end + 1;
      } else if (name_start(c) || (operand && (c == '*' || c == '?' || c == '.'))) {
        t.kind = Token::kName;
        t.text = name();
      } else if (std::isdigit(static_cast<unsigned char>(c)) || c == '\'') {
        t.kind = Token::kNumber;
        while (i_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[i_])) || text_[i_] == '_' || (text_[i_] == '\''))) {
          t.text += text_[i_++];
        }
      } else {
        t.kind = Token::kSymbol;
        static constexpr const char* kTwo[] = {"||", "&&", "==", "!=", "<=", ">=", "<<", ">>"};
        for (const char* s : kTwo) {
          if (text_.compare(i_, 2, s) == 0) t.text = s;
        }
        if (t.text.empty()) {
          if (std::string("!~-&|^+*/%<>()[]:,").find(c) == std::string::npos) {
            place_.fail(i_, fmt::format("'{}' does not belong into an expression", c));
          }
          t.text = std::string(1, c);
        }
        i_ += t.text.size();
      }
      out.push_back(t);
    }
  }

  static bool is_word(const Token& t) { return !t.quoted && (t.text == "and" || t.text == "or" || t.text == "not"); }

 private:
  /// With dots, stars that touch it, and an index that stands before a dot or holds a star.
  std::string name() {
    std::string out;
    while (i_ < text_.size()) {
      const char c = text_[i_];
      if (name_char(c) || c == '*' || c == '?' || (out.empty() && c == '\\')) {
        out += c;
        ++i_;
      } else if (c == '[') {
        const size_t close = text_.find(']', i_);
        if (close == std::string::npos) break;
        const std::string index = text_.substr(i_, close + 1 - i_);
        const bool before_dot = close + 1 < text_.size() && (text_[close + 1] == '.' || text_[close + 1] == '[');
        if (index.find_first_of(":,( ") != std::string::npos) break;
        if (index.find('*') == std::string::npos && !(before_dot && text_[close + 1] == '.')) break;
        out += index;
        i_ = close + 1;
      } else {
        break;
      }
    }
    return out;
  }

  const std::string& text_;
  const Place& place_;
  size_t i_ = 0;
};

}  // namespace

struct Expr::Node {
  Op op = Op::kConst;
  uint32_t width = 1;
  int a = -1, b = -1;
  uint32_t low = 0;                  ///< slice
  unsigned depth = 0;                ///< past
  unsigned head = 0;                 ///< oldest entry of the ring
  Bits bits;                         ///< the result
  std::unique_ptr<uint64_t[]> own;   ///< v, then x
  std::unique_ptr<uint64_t[]> ring;  ///< depth entries of the operand, each v then x

  uint32_t words() const { return (width + 63) / 64; }
  void make() {
    own.reset(new uint64_t[2 * words()]());
    bits = {own.get(), own.get() + words(), width};
  }
};

class Parser {
 public:
  Parser(Expr& e, const Place& place, Names& names)
      : e_(e), place_(place), names_(names), tokens_(Lexer(e.text_, place).all()) {}

  void parse() {
    if (tokens_[0].kind == Token::kEnd) place_.fail(0, "the expression is empty");
    const int root = binary(1);
    if (tokens_[i_].kind != Token::kEnd) {
      place_.fail(tokens_[i_].at, fmt::format("'{}' was not expected here; an operator or the end was", shown()));
    }
    e_.settle_ = settle_[static_cast<size_t>(root)];
  }

 private:
  using Node = Expr::Node;

  std::string shown() const { return tokens_[i_].kind == Token::kEnd ? "the end" : tokens_[i_].text; }
  bool symbol(const char* s) const { return tokens_[i_].kind == Token::kSymbol && tokens_[i_].text == s; }
  void expect(const char* s) {
    if (!symbol(s)) place_.fail(tokens_[i_].at, fmt::format("'{}' was expected here, not '{}'", s, shown()));
    ++i_;
  }
  uint32_t width(int n) const { return e_.nodes_[static_cast<size_t>(n)].width; }

  int add(Node node, unsigned more = 0) {
    unsigned s = 0;
    if (node.a >= 0) s = std::max(s, settle_[static_cast<size_t>(node.a)]);
    if (node.b >= 0) s = std::max(s, settle_[static_cast<size_t>(node.b)]);
    settle_.push_back(s + more);
    if (node.op != Op::kSignal && node.op != Op::kConst) node.make();
    e_.nodes_.push_back(std::move(node));
    return static_cast<int>(e_.nodes_.size()) - 1;
  }
  int make(Op op, uint32_t width, int a, int b = -1) {
    Node n;
    n.op = op;
    n.width = width;
    n.a = a;
    n.b = b;
    return add(std::move(n));
  }
  void narrow(int n, size_t at, const char* what) const {
    if (width(n) > 64) {
      place_.fail(at, fmt::format("{} takes at most 64 bits, and this has {}; take a slice", what, width(n)));
    }
  }

  int binary(int level) {
    int left = unary();
    for (;;) {
      const Token& t = tokens_[i_];
      const Binary* found = nullptr;
      if (t.kind == Token::kSymbol || (t.kind == Token::kName && Lexer::is_word(t))) {
        for (const auto& b : kBinary) {
          if (t.text == b.text) found = &b;
        }
      }
      if (found == nullptr || found->level < level) return left;
      const size_t at = t.at;
      ++i_;
      const int right = binary(found->level + 1);
      uint32_t w = 1;
      switch (found->op) {
        case Op::kMul:
        case Op::kDiv:
        case Op::kMod:
        case Op::kAdd:
        case Op::kSub:
        case Op::kShl:
          narrow(left, at, "arithmetic");
          narrow(right, at, "arithmetic");
          w = 64;
          break;
        case Op::kShr:
          narrow(left, at, "a shift");
          narrow(right, at, "a shift");
          w = width(left);
          break;
        case Op::kAnd:
        case Op::kOr:
        case Op::kXor:
          w = std::max(width(left), width(right));
          break;
        default:
          break;
      }
      left = make(found->op, w, left, right);
    }
  }

  int unary() {
    if (++depth_ > 256) place_.fail(tokens_[i_].at, "is nested too deep: at most 256 levels");
    const int n = operand();
    --depth_;
    return n;
  }

  int operand() {
    const Token& t = tokens_[i_];
    if (t.kind == Token::kName && !t.quoted && t.text == "not") {
      ++i_;
      return make(Op::kNot, 1, binary(3));  // weaker than comparisons, stronger than `and`
    }
    if (t.kind == Token::kSymbol) {
      const size_t at = t.at;
      for (const auto& [text, op] : {std::pair<const char*, Op>{"!", Op::kNot},
                                     {"~", Op::kInvert},
                                     {"-", Op::kNegate},
                                     {"&", Op::kAllOf},
                                     {"|", Op::kAnyOf},
                                     {"^", Op::kParity}}) {
        if (t.text != text) continue;
        ++i_;
        const int a = unary();
        if (op == Op::kNegate) narrow(a, at, "arithmetic");
        return make(op, op == Op::kInvert ? width(a) : op == Op::kNegate ? 64 : 1, a);
      }
    }
    return postfix();
  }

  uint64_t index() {
    const Token& t = tokens_[i_];
    if (t.kind == Token::kName && !t.quoted) {
      if (const auto c = names_.constant(t.text, place_, t.at)) {
        if (*c > 999'999'999) place_.fail(t.at, fmt::format("'{}' is {}, too large here", t.text, *c));
        ++i_;
        return *c;
      }
    }
    if (t.kind != Token::kNumber || t.text.find_first_not_of("0123456789") != std::string::npos || t.text.size() > 9) {
      place_.fail(t.at, fmt::format("a plain number was expected here, not '{}'", shown()));
    }
    ++i_;
    return std::stoull(t.text);
  }

  /// [h:l] or [i] behind `a`, whose bits are numbered msb down (or up) to lsb.
  int slice(int a, int32_t msb, int32_t lsb) {
    const size_t at = tokens_[i_].at;
    expect("[");
    const auto high = static_cast<int64_t>(index());
    int64_t low = high;
    if (symbol(":")) {
      ++i_;
      low = static_cast<int64_t>(index());
    }
    expect("]");
    const bool down = msb >= lsb;
    const int64_t top = down ? high - lsb : lsb - high;
    const int64_t bottom = down ? low - lsb : lsb - low;
    if (bottom < 0 || top < bottom || top >= width(a)) {
      place_.fail(at, fmt::format("slice [{}:{}] does not lie in [{}:{}]", high, low, msb, lsb));
    }
    Node n;
    n.op = Op::kSlice;
    n.a = a;
    n.low = static_cast<uint32_t>(bottom);
    n.width = static_cast<uint32_t>(top - bottom + 1);
    return add(std::move(n));
  }

  int postfix() {
    const Token t = tokens_[i_];
    if (t.kind == Token::kNumber) {
      ++i_;
      return constant(t);
    }
    if (t.kind == Token::kSymbol && t.text == "(") {
      ++i_;
      const int a = binary(1);
      expect(")");
      return symbol("[") ? slice(a, static_cast<int32_t>(width(a)) - 1, 0) : a;
    }
    if (t.kind != Token::kName || Lexer::is_word(t)) {
      place_.fail(t.at, fmt::format("'{}' was not expected here; a signal, a number, a function or '(' was", shown()));
    }
    ++i_;
    if (!t.quoted && symbol("(")) return call(t);
    if (!t.quoted) {
      if (const auto c = names_.constant(t.text, place_, t.at)) {
        Node n;
        n.width = 64;
        n.make();
        n.own[0] = *c;
        const int a = add(std::move(n));
        return symbol("[") ? slice(a, 63, 0) : a;
      }
    }
    const Names::Bound* bound = names_.find(t.text);
    if (bound == nullptr && symbol("[") && tokens_[i_ + 1].kind == Token::kNumber && tokens_[i_ + 2].text == "]") {
      bound = names_.find(t.text + "[" + tokens_[i_ + 1].text + "]");  // an element of an array
      if (bound != nullptr) i_ += 3;
    }
    if (bound == nullptr) names_.unknown(t.text, place_, t.at);
    Node n;
    n.op = Op::kSignal;
    n.width = bound->bits.width;
    n.bits = bound->bits;
    const int32_t msb = bound->msb, lsb = bound->lsb;
    const int a = add(std::move(n));
    return symbol("[") ? slice(a, msb, lsb) : a;
  }

  int call(const Token& t) {
    const Function* f = nullptr;
    for (const auto& x : kFunctions) {
      if (t.text == x.name) f = &x;
    }
    if (f == nullptr) {
      std::string all;
      for (const auto& x : kFunctions) all += (all.empty() ? "" : ", ") + std::string(x.name);
      place_.fail(t.at, fmt::format("there is no function '{}'; there are: {}", t.text, all));
    }
    expect("(");
    Node n;
    n.op = f->op;
    n.a = binary(1);
    unsigned depth =
        f->op == Op::kPast || f->op == Op::kRose || f->op == Op::kFell || f->op == Op::kChanged || f->op == Op::kStable;
    if (f->op == Op::kPast && symbol(",")) {
      ++i_;
      const size_t at = tokens_[i_].at;
      depth = static_cast<unsigned>(index());
      if (depth < 1 || depth > 4096) place_.fail(at, "past() goes back 1 to 4096 samples");
      if (uint64_t{width(n.a)} * depth > (1u << 26)) {
        place_.fail(at, fmt::format("past() of {} bits over {} samples is too much; take a slice", width(n.a), depth));
      }
    }
    expect(")");
    n.width = f->op == Op::kPast ? width(n.a) : f->op == Op::kCountOnes ? 32 : 1;
    n.depth = depth;
    if (depth != 0) {
      const uint32_t w = (width(n.a) + 63) / 64;
      n.ring.reset(new uint64_t[size_t{2} * w * depth]);
      std::memset(n.ring.get(), 0xff, size_t{16} * w * depth);
      for (unsigned d = 0; d < depth; ++d) {  // x: v is 0
        std::memset(n.ring.get() + size_t{2} * w * d, 0, size_t{8} * w);
        if (width(n.a) % 64 != 0) n.ring[size_t{2} * w * d + 2 * w - 1] = (uint64_t{1} << width(n.a) % 64) - 1;
      }
    }
    const int a = add(std::move(n), depth);
    return symbol("[") ? slice(a, static_cast<int32_t>(width(a)) - 1, 0) : a;
  }

  /// 12, 0x1f, 0b101, 8'hff, 'b01x; _ between digits.
  int constant(const Token& t) {
    std::string s;
    for (const char c : t.text) {
      if (c != '_') s += static_cast<char>(std::tolower(c));
    }
    unsigned base = 10;
    uint64_t bits = 64;
    const size_t tick = s.find('\'');
    std::string digits = s;
    if (tick != std::string::npos) {
      if (tick != 0) {
        if (s.find_first_not_of("0123456789") != tick || tick > 6) place_.fail(t.at, "the width is not a number");
        bits = std::stoull(s.substr(0, tick));
      }
      const char letter = tick + 1 < s.size() ? s[tick + 1] : ' ';
      base = letter == 'h' ? 16 : letter == 'b' ? 2 : letter == 'd' ? 10 : letter == 'o' ? 8 : 0;
      if (base == 0 || bits == 0)
        place_.fail(t.at, fmt::format("'{}' is not a number; write 8'hff, 8'b1 or 8'd1", t.text));
      digits = s.substr(tick + 2);
    } else if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'b')) {
      base = s[1] == 'x' ? 16 : 2;
      digits = s.substr(2);
      if (base == 16) bits = std::max<uint64_t>(64, 4 * digits.size());
    }
    Node n;
    n.width = static_cast<uint32_t>(bits);
    n.make();
    uint64_t* v = n.own.get();
    const uint32_t words = n.words();
    bool good = !digits.empty(), over = false;
    for (const char c : digits) {
      const unsigned d = std::isdigit(static_cast<unsigned char>(c)) ? static_cast<unsigned>(c - '0')
                         : c >= 'a' && c <= 'f'                      ? static_cast<unsigned>(c - 'a' + 10)
                                                                     : 99u;
      if (d >= base) {
        good = false;
        break;
      }
      unsigned __int128 carry = d;
      for (uint32_t w = 0; w < words; ++w) {
        carry += static_cast<unsigned __int128>(v[w]) * base;
        v[w] = static_cast<uint64_t>(carry);
        carry >>= 64;
      }
      over = over || carry != 0 || (bits % 64 != 0 && v[words - 1] >> (bits % 64) != 0);
    }
    if (!good) place_.fail(t.at, fmt::format("'{}' is not a number; write 12, 0x1f, 0b101 or 8'hff", t.text));
    if (over) place_.fail(t.at, fmt::format("'{}' does not fit into {} bits", t.text, bits));
    return add(std::move(n));
  }

  Expr& e_;
  const Place& place_;
  Names& names_;
  std::vector<Token> tokens_;
  std::vector<unsigned> settle_;
  size_t i_ = 0;
  unsigned depth_ = 0;
};

Expr::Expr(const std::string& text, const Place& place, Names& names) : text_(text) {
  Parser(*this, place, names).parse();
  result_ = nodes_.back().bits;
  computed_ = nodes_.size() > 1;
  signal_ = nodes_.size() == 1 && nodes_[0].op == Op::kSignal;
}
Expr::~Expr() = default;
Expr::Expr(Expr&&) noexcept = default;
Expr& Expr::operator=(Expr&&) noexcept = default;

namespace {

uint64_t mask_of_top(uint32_t width) { return width % 64 == 0 ? ~uint64_t{0} : (uint64_t{1} << width % 64) - 1; }

uint64_t word(const uint64_t* p, uint32_t words, uint32_t i) { return i < words ? p[i] : 0; }

Truth equal(const Bits& a, const Bits& b) {
  if (a.words() == 1 && b.words() == 1) {
    const uint64_t x = a.x[0] | b.x[0];
    return ((a.v[0] ^ b.v[0]) & ~x) != 0 ? Truth::kFalse : x != 0 ? Truth::kUnknown : Truth::kTrue;
  }
  const uint32_t n = std::max(a.words(), b.words());
  bool unknown = false;
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t x = word(a.x, a.words(), i) | word(b.x, b.words(), i);
    if ((word(a.v, a.words(), i) ^ word(b.v, b.words(), i)) & ~x) return Truth::kFalse;
    unknown = unknown || x != 0;
  }
  return unknown ? Truth::kUnknown : Truth::kTrue;
}

/// -1, 0, 1; both known.
int order(const Bits& a, const Bits& b) {
  for (uint32_t i = std::max(a.words(), b.words()); i-- > 0;) {
    const uint64_t x = word(a.v, a.words(), i), y = word(b.v, b.words(), i);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

uint32_t ones(const Bits& b) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < b.words(); ++i) n += static_cast<uint32_t>(__builtin_popcountll(b.v[i]));
  return n;
}

}  // namespace

Bits Expr::compute() {
  for (Node& n : nodes_) {
    if (n.op == Op::kConst || n.op == Op::kSignal) continue;
    uint64_t* v = n.own.get();
    uint64_t* x = v + n.words();
    const Bits a = nodes_[static_cast<size_t>(n.a)].bits;
    const Bits b = n.b >= 0 ? nodes_[static_cast<size_t>(n.b)].bits : a;
    const auto set = [&](Truth t) {
      v[0] = t == Truth::kTrue;
      x[0] = t == Truth::kUnknown;
    };
    const auto flag = [&](bool t) { set(t ? Truth::kTrue : Truth::kFalse); };
    const auto negated = [](Truth t) {
      return t == Truth::kTrue ? Truth::kFalse : t == Truth::kFalse ? Truth::kTrue : t;
    };
    const auto all_unknown = [&] {
      std::memset(v, 0, n.words() * 8);
      std::memset(x, 0xff, n.words() * 8);
      x[n.words() - 1] &= mask_of_top(n.width);
    };
    switch (n.op) {
      case Op::kConst:
      case Op::kSignal:
        break;
      case Op::kSlice: {
        const uint32_t shift = n.low % 64, first = n.low / 64;
        for (uint32_t i = 0; i < n.words(); ++i) {
          v[i] = word(a.v, a.words(), first + i) >> shift;
          x[i] = word(a.x, a.words(), first + i) >> shift;
          if (shift != 0) {
            v[i] |= word(a.v, a.words(), first + i + 1) << (64 - shift);
            x[i] |= word(a.x, a.words(), first + i + 1) << (64 - shift);
          }
        }
        v[n.words() - 1] &= mask_of_top(n.width);
        x[n.words() - 1] &= mask_of_top(n.width);
        break;
      }
      case Op::kInvert:
        for (uint32_t i = 0; i < n.words(); ++i) {
          x[i] = a.x[i];
          v[i] = ~a.v[i] & ~a.x[i];
        }
        v[n.words() - 1] &= mask_of_top(n.width);
        break;
      case Op::kNot:
        set(negated(truth(a)));
        break;
      case Op::kAnyOf:
        set(truth(a));
        break;
      case Op::kAllOf: {
        bool zero = false;
        for (uint32_t i = 0; i < a.words(); ++i) {
          const uint64_t m = i + 1 == a.words() ? mask_of_top(a.width) : ~uint64_t{0};
          zero = zero || (~(a.v[i] | a.x[i]) & m) != 0;
        }
        set(zero ? Truth::kFalse : a.known() ? Truth::kTrue : Truth::kUnknown);
        break;
      }
      case Op::kParity:
        if (a.known())
          flag(ones(a) % 2 != 0);
        else
          set(Truth::kUnknown);
        break;
      case Op::kNegate:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMod:
      case Op::kAdd:
      case Op::kSub:
      case Op::kShl:
      case Op::kShr: {
        const uint64_t p = a.v[0], q = b.v[0];
        if (a.x[0] || b.x[0] || ((n.op == Op::kDiv || n.op == Op::kMod) && q == 0)) {
          all_unknown();
          break;
        }
        x[0] = 0;
        v[0] = n.op == Op::kNegate ? uint64_t{0} - p
               : n.op == Op::kMul  ? p * q
               : n.op == Op::kDiv  ? p / q
               : n.op == Op::kMod  ? p % q
               : n.op == Op::kAdd  ? p + q
               : n.op == Op::kSub  ? p - q
               : q >= 64           ? 0
               : n.op == Op::kShl  ? p << q
                                   : p >> q;
        break;
      }
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe: {
        if (!a.known() || !b.known()) {
          set(Truth::kUnknown);
          break;
        }
        const int c = order(a, b);
        flag(n.op == Op::kLt ? c < 0 : n.op == Op::kLe ? c <= 0 : n.op == Op::kGt ? c > 0 : c >= 0);
        break;
      }
      case Op::kEq:
        set(equal(a, b));
        break;
      case Op::kNe:
        set(negated(equal(a, b)));
        break;
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor:
        for (uint32_t i = 0; i < n.words(); ++i) {
          const uint64_t av = word(a.v, a.words(), i), ax = word(a.x, a.words(), i);
          const uint64_t bv = word(b.v, b.words(), i), bx = word(b.x, b.words(), i);
          if (n.op == Op::kXor) {
            x[i] = ax | bx;
            v[i] = (av ^ bv) & ~x[i];
          } else if (n.op == Op::kAnd) {
            x[i] = (ax | bx) & (ax | av) & (bx | bv);
            v[i] = av & bv & ~ax & ~bx;
          } else {
            v[i] = (av & ~ax) | (bv & ~bx);
            x[i] = (ax | bx) & ~v[i];
          }
        }
        break;
      case Op::kLogicalAnd: {
        const Truth p = truth(a), q = truth(b);
        set(p == Truth::kFalse || q == Truth::kFalse ? Truth::kFalse
            : p == Truth::kTrue && q == Truth::kTrue ? Truth::kTrue
                                                     : Truth::kUnknown);
        break;
      }
      case Op::kLogicalOr: {
        const Truth p = truth(a), q = truth(b);
        set(p == Truth::kTrue || q == Truth::kTrue     ? Truth::kTrue
            : p == Truth::kFalse && q == Truth::kFalse ? Truth::kFalse
                                                       : Truth::kUnknown);
        break;
      }
      case Op::kPast:
      case Op::kRose:
      case Op::kFell:
      case Op::kChanged:
      case Op::kStable: {
        const uint32_t w = a.words();
        uint64_t* entry = n.ring.get() + size_t{2} * w * n.head;
        const Bits before{entry, entry + w, a.width};
        if (n.op == Op::kPast) {
          std::memcpy(v, before.v, w * 8);
          std::memcpy(x, before.x, w * 8);
        } else if (n.op == Op::kRose || n.op == Op::kFell) {
          const uint64_t was = n.op == Op::kRose ? 0 : 1;
          flag((before.x[0] & 1) == 0 && (a.x[0] & 1) == 0 && (before.v[0] & 1) == was && (a.v[0] & 1) != was);
        } else {
          const Truth e = equal(before, a);
          set(n.op == Op::kStable ? e : negated(e));
        }
        std::memcpy(entry, a.v, w * 8);
        std::memcpy(entry + w, a.x, w * 8);
        n.head = n.head + 1 == n.depth ? 0 : n.head + 1;
        break;
      }
      case Op::kOnehot:
        a.known() ? flag(ones(a) == 1) : set(Truth::kUnknown);
        break;
      case Op::kOnehot0:
        a.known() ? flag(ones(a) <= 1) : set(Truth::kUnknown);
        break;
      case Op::kIsUnknown:
        flag(!a.known());
        break;
      case Op::kCountOnes:
        if (a.known()) {
          v[0] = ones(a);
          x[0] = 0;
        } else {
          all_unknown();
        }
        break;
    }
  }
  return result_;
}

std::vector<std::pair<std::string, size_t>> names_in(const std::string& text, const Place& place) {
  std::vector<std::pair<std::string, size_t>> out;
  const auto tokens = Lexer(text, place).all();
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto& t = tokens[i];
    if (t.kind != Token::kName || Lexer::is_word(t)) continue;
    if (!t.quoted && tokens[i + 1].kind == Token::kSymbol && tokens[i + 1].text == "(") continue;
    out.emplace_back(t.text, t.at);
  }
  return out;
}

}  // namespace rnic::wave
