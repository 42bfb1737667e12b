// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PlotAxis.h"

#include "runtime/core/PlotCurve.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {

/// Returns how many digits behind the point multiples of `step` need.
static int decimalsOf(double step) { return std::max(0, int(std::ceil(-std::log10(step) - 1e-9))); }

std::string tickText(double value, double step) {
  const double size = std::fabs(value);
  if (size < step / 2)
    return "0";
  double unit = 1;
  std::string text, name;
  if (size < 1e-3 || step < 1e-5) { // 2e-5, 1.5e-4
    const int exponent = int(std::floor(std::log10(size) + 1e-9));
    unit = std::pow(10, exponent);
    print(name, "e%d", exponent);
  } else if (size >= 1e9) {
    unit = 1e9;
    name = "G";
  } else if (size >= 1e6) {
    unit = 1e6;
    name = "M";
  } else if (size >= 1e4 || (size >= 1e3 && step >= 1e3)) {
    unit = 1e3;
    name = "k";
  }
  print(text, "%.*f%s", std::min(decimalsOf(step / unit), 6), value / unit, name.c_str());
  return text;
}

/// Returns the least of 1, 2, 5, 10, 20, ... times a power of 10 that is not below `value`.
static double niceStep(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value))), factor = value / unit * (1 - 1e-9);
  return unit * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

Axis::Axis(Kind kind, double low, double high, int ticks, bool rounded) : kind_(kind), low_(low), high_(high) {
  if (kind == Linear) {
    if (!(high - low > 1e-12 * std::max(std::fabs(low), std::fabs(high)))) { // a constant: a range around it
      const double around = low == 0 ? 1 : std::fabs(low) / 2;
      low_ -= around;
      high_ += around;
    }
    step_ = niceStep((high_ - low_) / ticks);
    const double inside = rounded ? -1e-9 : 1e-9; // what rounding of the quotients may do
    first_ = int(rounded ? std::floor(low_ / step_ - inside) : std::ceil(low_ / step_ - inside));
    last_ = int(rounded ? std::ceil(high_ / step_ + inside) : std::floor(high_ / step_ + inside));
    if (rounded) {
      low_ = first_ * step_;
      high_ = last_ * step_;
    }
    return;
  }
  if (kind == Log2) { // a line at an end would lie on the frame
    low_ = std::exp2(std::floor(std::log2(low) - 0.5));
    high_ = std::exp2(std::ceil(std::log2(high) + 0.5));
  } else { // about a twentieth of a panel that shows a decade
    low_ /= 1.15;
    high_ *= 1.15;
  }
  const double base = std::log(kind == Log2 ? 2 : 10);
  first_ = int(std::ceil(std::log(low_) / base - 1e-9));
  last_ = int(std::floor(std::log(high_) / base + 1e-9));
  every_ = std::max(1, (last_ - first_ + ticks + 1) / (ticks + 1));
}

/// Returns the number as a power of 2: "2¹⁶".
static std::string powerText(int exponent) {
  static constexpr const char *kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string digits, text = exponent < 0 ? "2⁻" : "2";
  print(digits, "%d", std::abs(exponent));
  for (char digit : digits)
    text += kDigits[digit - '0'];
  return text;
}

void Axis::eachTick(FunctionRef<void(double, const std::string &)> visitor) const {
  for (int i = first_; i <= last_ && kind_ == Linear; ++i)
    visitor(i * step_, tickText(i * step_, step_));
  const bool parts = kind_ == Log10 && last_ - first_ < 2; // within few decades, 2 and 5 have ticks, too
  for (int i = first_ - parts; i <= last_ && kind_ != Linear; ++i) {
    const double power = std::pow(kind_ == Log2 ? 2 : 10, i);
    for (int factor : {1, 2, 5}) {
      const double value = factor * power;
      if (factor == 1 ? (i - first_) % every_ == 0 && i >= first_
                      : parts && value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9))
        visitor(value, kind_ == Log2 ? powerText(i) : tickText(value, power));
    }
  }
}

double Axis::at(double value) const {
  return kind_ == Linear ? (value - low_) / (high_ - low_) : std::log(value / low_) / std::log(high_ / low_);
}

} // namespace mpc::rt
