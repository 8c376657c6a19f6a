// SPDX-License-Identifier: Apache-2.0
// Expressions: values, unknown bits, history, errors.
#include "rnic/wave/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "rnic/core/error.h"

namespace rnic::test {
namespace {

using testing::HasSubstr;
using wave::Bits;
using wave::Expr;
using wave::Place;

/// Signals a (8), b (8), w (128), up [0:7], e[2] (1 bit).
class ExprTest : public testing::Test, public wave::Names {
 protected:
  ExprTest() {
    add("a", 8);
    add("b", 8);
    add("w", 128);
    add("top.x[1].v", 1);
    add("e[2]", 1);
    add("up", 8);
    signals_["up"].bound.msb = 0;
    signals_["up"].bound.lsb = 7;
  }
  const Bound* find(const std::string& name) override {
    const auto it = signals_.find(name);
    return it == signals_.end() ? nullptr : &it->second.bound;
  }
  [[noreturn]] void unknown(const std::string& name, const Place& place, size_t offset) override {
    place.fail(offset, "no signal " + name);
  }
  void set(const std::string& name, uint64_t v, uint64_t x = 0, unsigned word = 0) {
    auto& s = signals_[name];
    s.v[word] = v;
    s.x[word] = x;
  }
  std::string value(const std::string& text) { return Expr(text, {}, *this).sample().text(); }
  std::string error(const std::string& text) {
    try {
      Expr(text, {"f.toml", 3, 10, "expr"}, *this);
    } catch (const InputError& e) {
      return e.what();
    }
    return "none";
  }

 private:
  struct Signal {
    uint64_t v[2] = {}, x[2] = {};
    Bound bound;
  };
  void add(const std::string& name, uint32_t width) {
    Signal& s = signals_[name];
    s.bound.bits = {s.v, s.x, width};
    s.bound.msb = static_cast<int32_t>(width) - 1;
  }
  std::map<std::string, Signal> signals_;
};

TEST_F(ExprTest, ArithmeticComparisonAndOrder) {
  set("a", 0x12);
  set("b", 3);
  EXPECT_EQ(value("a + b * 2"), "18");
  EXPECT_EQ(value("(a - b)[7:0]"), "f");
  EXPECT_EQ(value("a / b == 6 && a % b == 0"), "1");
  EXPECT_EQ(value("a < b || b <= 3 and not a == 0"), "1");
  EXPECT_EQ(value("a << 4 >> 1"), "90");
  EXPECT_EQ(value("a & 8'h0f | 0b1000"), "a");
  EXPECT_EQ(value("~b"), "fc");
  EXPECT_EQ(value("a / 0"), "xxxxxxxxxxxxxxxx");
}

TEST_F(ExprTest, SlicesAndIndices) {
  set("w", 0xfedcba9876543210, 0, 0);
  set("w", 0x1122334455667788, 0, 1);
  EXPECT_EQ(value("w[71:56]"), "88fe");
  EXPECT_EQ(value("w[127:64] == 64'h1122334455667788"), "1");
  EXPECT_EQ(value("w == 0x1122334455667788fedcba9876543210"), "1");
  set("up", 0x80);
  EXPECT_EQ(value("up[0]"), "1");  // declared [0:7]
  EXPECT_EQ(value("up[6:7]"), "0");
  set("e[2]", 1);
  EXPECT_EQ(value("e[2]"), "1");
  set("top.x[1].v", 1);
  EXPECT_EQ(value("top.x[1].v && `e[2]`"), "1");
}

TEST_F(ExprTest, UnknownBitsStayUnknown) {
  set("a", 0, 0x0f);
  set("b", 0xf0);
  EXPECT_EQ(value("a"), "x");
  EXPECT_EQ(value("a == b"), "0");  // a known bit differs
  EXPECT_EQ(value("a & 0"), "0");
  EXPECT_EQ(value("a + 1"), "xxxxxxxxxxxxxxxx");
  EXPECT_EQ(value("isunknown(a)"), "1");
  EXPECT_EQ(value("a == 0 || b == 0xf0"), "1");
  EXPECT_EQ(value("!(a == 0)"), "x");
}

TEST_F(ExprTest, History) {
  Expr e("past(a, 2)", {}, *this), rose("rose(b)", {}, *this), fell("fell(b[0])", {}, *this),
      same("stable(a)", {}, *this);
  EXPECT_EQ(e.settle(), 2u);
  std::string values, edges, changes;
  for (int i = 1; i <= 5; ++i) {
    set("a", static_cast<uint64_t>(i < 4 ? i : 4));
    set("b", i == 3 || i == 4);
    values += e.sample().text() + " ";
    edges += rose.sample().text() + fell.sample().text() + " ";
    changes += same.sample().text();
  }
  EXPECT_EQ(values, "xx xx 1 2 3 ");
  EXPECT_EQ(edges, "00 00 10 00 01 ");
  EXPECT_EQ(changes, "x0001");
}

TEST_F(ExprTest, Functions) {
  set("a", 8);
  set("b", 3);
  EXPECT_EQ(value("onehot(a)"), "1");
  EXPECT_EQ(value("onehot(b)"), "0");
  EXPECT_EQ(value("onehot0(a & b)"), "1");
  EXPECT_EQ(value("countones(b)"), "2");
  EXPECT_EQ(value("|a"), "1");
  EXPECT_EQ(value("^b"), "0");
  EXPECT_EQ(value("&(b | 8'hfc)"), "1");
}

TEST_F(ExprTest, ErrorsNameTheColumn) {
  EXPECT_EQ(error("a + nope"), "f.toml:3:14: key 'expr': no signal nope");
  EXPECT_THAT(error("a +"), HasSubstr("3:13: key 'expr': 'the end' was not expected"));
  EXPECT_THAT(error("a b"), HasSubstr("3:12: key 'expr': 'b' was not expected here; an operator or the end was"));
  EXPECT_THAT(error("w + 1"), HasSubstr("3:12: key 'expr': arithmetic takes at most 64 bits, and this has 128"));
  EXPECT_THAT(error("a[8]"), HasSubstr("slice [8:8] does not lie in [7:0]"));
  EXPECT_THAT(error("rise(a)"), HasSubstr("there is no function 'rise'; there are: past, rose"));
  EXPECT_THAT(error("a == 4'hff"), HasSubstr("does not fit into 4 bits"));
  EXPECT_THAT(error("a == 0b12"), HasSubstr("is not a number"));
  EXPECT_THAT(error("a = b"), HasSubstr("'=' does not belong"));
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error(std::string(100'000, '(') + "a"), HasSubstr("nested too deep"));
  EXPECT_THAT(error(std::string(100'000, '!') + "a"), HasSubstr("nested too deep"));
}

}  // namespace
}  // namespace rnic::test
