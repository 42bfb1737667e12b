//===- Normal.h - the normal numbers of graph.random ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is Box and Muller's transform (A note on the generation of random normal deviates, 1958) as a fixed sequence of
// operations that IEEE 754 defines exactly: additions, multiplications, divisions and a square root in f64. It is
// written once for everything that computes it, the evaluator with numbers and the kernels with code, so that they
// agree bit for bit. Nobody may contract, reorder or approximate it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_NORMAL_H
#define MPC_GRAPH_IR_NORMAL_H
#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace mpc::graph {

/// Returns one of the two normal numbers that two words make:
/// sqrt(-2 ln((a + 1)/2^32)) * cos(2 pi b/2^32), or with `sine` (1, else 0) the sine. The largest is 6.7.
///
/// `Ops` does the arithmetic: `Word` is an integer of 32 bits modulo 2^32, and `Real` is a double. It has
///   word(n), real(x): constants;           add, sub, shiftLeft, shiftRight (unsigned), bitAnd: of words
///   plus, minus, times, over, root: of reals        fromUnsigned(w), fromSigned(w): exact
///   exponent(x), mantissa(x): x = mantissa * 2^exponent with a mantissa in [1, 2), of a normal positive x
///   isOver(x, y): x > y;  isZero(w);  choose(condition, x, y) of reals or words
template <typename Ops>
typename Ops::Real standardNormal(Ops &o, typename Ops::Word a, typename Ops::Word b, typename Ops::Word sine) {
  using Real = typename Ops::Real;
  using Word = typename Ops::Word;
  /// Evaluates c[0] + x*(c[1] + x*(...)).
  auto polynomial = [&](Real x, auto coefficients) {
    Real sum = o.real(coefficients[coefficients.size() - 1]);
    for (std::size_t i = coefficients.size() - 1; i-- > 0;)
      sum = o.plus(o.times(sum, x), o.real(coefficients[i]));
    return sum;
  };

  // ln of a + 1 = m * 2^e with m in [sqrt(1/2), sqrt 2) is e ln 2 + 2 atanh t with t = (m - 1)/(m + 1), t^2 <
  // 0.0295; the first omitted term is below 2^-55 of the sum. a + 1 is in [1, 2^32]; it is a double, because it
  // may not fit a word.
  Real x = o.plus(o.fromUnsigned(a), o.real(1));
  Real m = o.mantissa(x);
  auto large = o.isOver(m, o.real(std::numbers::sqrt2));
  m = o.choose(large, o.times(m, o.real(0.5)), m);
  Word e = o.choose(large, o.add(o.exponent(x), o.word(1)), o.exponent(x));
  Real t = o.over(o.minus(m, o.real(1)), o.plus(m, o.real(1)));
  std::array<double, 10> atanh;
  for (std::size_t i = 0; i < atanh.size(); ++i)
    atanh[i] = 2.0 / double(2 * i + 1);
  Real fraction = o.times(t, polynomial(o.times(t, t), atanh));
  Real whole = o.times(o.fromSigned(o.sub(o.word(32), e)), o.real(std::numbers::ln2));
  Real radius = o.root(o.times(o.minus(whole, fraction), o.real(2)));

  // The turn b/2^32 is q quarters and an angle in [-pi/4, pi/4]; the first omitted terms of the series are below 2^-57.
  Word q = o.shiftRight(o.add(b, o.word(uint32_t(1) << 29)), o.word(30));
  Real angle = o.times(o.fromSigned(o.sub(b, o.shiftLeft(q, o.word(30)))), o.real(2 * std::numbers::pi * 0x1p-32));
  Real square = o.times(angle, angle);
  std::array<double, 9> cosine;
  std::array<double, 8> sinus;
  double factorial = 1;
  for (std::size_t i = 0; i < 17; ++i) {
    factorial *= i == 0 ? 1 : double(i);
    double term = (i / 2 % 2 ? -1 : 1) / factorial;
    if (i % 2)
      sinus[i / 2] = term;
    else
      cosine[i / 2] = term;
  }
  Real c = polynomial(square, cosine), s = o.times(angle, polynomial(square, sinus));
  // cos(angle + q quarters) is c, -s, -c, s for q = 0, 1, 2, 3; a sine is the cosine a quarter before.
  q = o.bitAnd(o.sub(q, sine), o.word(3));
  Real value = o.choose(o.isZero(o.bitAnd(q, o.word(1))), c, s);
  Word negative = o.bitAnd(o.add(q, o.word(1)), o.word(2));
  return o.times(radius, o.choose(o.isZero(negative), value, o.minus(o.real(0), value)));
}

} // namespace mpc::graph
#endif
