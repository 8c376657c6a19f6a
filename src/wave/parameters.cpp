// SPDX-License-Identifier: Apache-2.0
#include "parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "rnic/core/names.h"

namespace rnic::wave::detail {
namespace {

class Calculator {
 public:
  Calculator(const std::string& text, const Place& place, const ParameterValues& parameters)
      : text_(text), place_(place), parameters_(parameters) {}

  double run() {
    if (peek() == '\0')
      place_.fail(0, "the text is empty; a number or an expression of numbers and parameters was expected");
    const double v = sum();
    if (peek() != '\0')
      place_.fail(at_, fmt::format("'{}' was not expected here; an operator or the end was", text_[at_]));
    if (!std::isfinite(v)) place_.fail(0, "is not a finite number");
    return v;
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (take(c)) return;
    place_.fail(at_, at_ < text_.size() ? fmt::format("'{}' was expected here, not '{}'", c, text_[at_])
                                        : fmt::format("'{}' was expected here, not the end", c));
  }

  double sum() {
    double v = product();
    for (;;) {
      if (take('+'))
        v += product();
      else if (take('-'))
        v -= product();
      else
        return v;
    }
  }
  double product() {
    double v = factor();
    for (;;) {
      const char c = peek();
      if (c != '*' && c != '/' && c != '%') return v;
      const size_t at = at_++;
      const double w = factor();
      if (c != '*' && w == 0) place_.fail(at, "division by zero");
      v = c == '*' ? v * w : c == '/' ? v / w : std::fmod(v, w);
    }
  }
  double factor() {
    if (++depth_ > 200) place_.fail(at_, "is nested too deep");
    const double v = inner();
    --depth_;
    return v;
  }
  double inner() {
    if (take('-')) return -factor();
    if (take('+')) return factor();
    if (take('(')) {
      const double v = sum();
      expect(')');
      return v;
    }
    const char c = peek();
    const size_t from = at_;
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') {
      const char* begin = text_.c_str() + at_;
      char* end = nullptr;
      const double v = std::strtod(begin, &end);
      at_ += static_cast<size_t>(end - begin);
      const bool glued =
          at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_');
      if (end == begin || glued) place_.fail(from, "is not a number; write 12, 0.5, 1e3 or 0x1f");
      return v;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      std::string name;
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
        name += text_[at_++];
      if ((name == "min" || name == "max") && take('(')) {
        double v = sum();
        while (take(',')) v = name == "min" ? std::min(v, sum()) : std::max(v, sum());
        expect(')');
        return v;
      }
      const auto it = parameters_.find(name);
      if (it != parameters_.end()) return it->second;
      std::vector<std::string> all;
      for (const auto& [n, v] : parameters_) {
        all.push_back(n);
        (void)v;
      }
      place_.fail(from, all.empty() ? fmt::format("'{}' is not declared; write it into a table [parameters]", name)
                                    : fmt::format("there is no parameter '{}'; nearest: {}", name,
                                                  fmt::join(nearest(name, all), ", ")));
    }
    place_.fail(from, c == '\0' ? "the text ends here; a number, a parameter or '(' was expected"
                                : fmt::format("'{}' was not expected here; a number, a parameter or '(' was", c));
  }

  const std::string& text_;
  const Place& place_;
  const ParameterValues& parameters_;
  size_t at_ = 0;
  unsigned depth_ = 0;
};

}  // namespace

double evaluate(const std::string& text, const Place& place, const ParameterValues& parameters) {
  return Calculator(text, place, parameters).run();
}

}  // namespace rnic::wave::detail
