// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learning rate as a function of the iteration counter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::rt {

/// A number of steps, or of epochs.
struct Span {
  Span(int64_t count = 0, bool epochs = false) : count(count), epochs(epochs) {}
  int64_t count;
  bool epochs;

  int64_t steps(int64_t perEpoch) const { return epochs ? count * perEpoch : count; }
  /// Parses a list such as "30e,60e". "500s" and "500steps" are steps, "30e" and "30epochs" epochs; a number alone
  /// counts epochs if `epochs` is true. Returns nothing for another text, and for a number below `least` or above 10^9.
  static std::vector<Span> parse(std::string_view text, bool epochs, int64_t least);
};

struct Schedule {
  enum Kind {
    Constant,
    Step,
    Cosine,
    Linear,
    CosineRestarts,
    OneCycle,
    MultiStep,
    Exponential,
    Polynomial,
    Plateau
  } kind = Constant;
  int64_t total = 1;                 // iterations of the whole training
  Span warmup = 0;                   // linear growth from base/warmup to base; the schedule of `kind` begins after it
  Span stepSize = 0;                 // Step: between decays; Exponential: of one decay
  double stepGamma = 0.1;            // Step, MultiStep, Exponential: factor of each decay
  double minRate = 0;                // lower bound of the rate, for all kinds but Constant
  std::vector<Span> milestones = {}; // MultiStep: when the rate decays
  Span restartSteps = 0;             // CosineRestarts: the first cycle
  int64_t restartFactor = 1;         // CosineRestarts: how much longer each cycle is than the one before
  double pctStart = 0.3;             // OneCycle: the part of the training in which the rate rises
  double divFactor = 25;             // OneCycle: base / the first rate
  double finalDivFactor = 1e4;       // OneCycle: the first rate / the last one
  double power = 1;                  // Polynomial
  double plateauFactor = 1;          // Plateau: what the training has multiplied the rate by so far

  /// The rate for t = iteration - warmup and T = total - warmup is
  ///   constant         base
  ///   step             base * gamma^floor(t / stepSize)
  ///   multi-step       base * gamma^(number of milestones <= t)
  ///   exponential      base * gamma^(t / stepSize)
  ///   plateau          base * plateauFactor
  /// or min + (base - min) * s with
  ///   cosine           s = (1 + cos(pi t / T)) / 2     (SGDR, arXiv 1608.03983, eq. 5)
  ///   cosine-restarts  the same with the position in a cycle and its length for t and T; cycle i has the length
  ///                    restartSteps * restartFactor^i
  ///   linear           s = 1 - t / T
  ///   polynomial       s = (1 - t / T)^power
  /// one-cycle rises along a cosine from base / divFactor to base until t = pctStart * T - 1, and falls along another
  /// to base / divFactor / finalDivFactor at t = T - 1 (arXiv 1708.07120). All are those of torch.optim.lr_scheduler,
  /// with a step of the scheduler after each step of the training. Spans must be in steps (settle).
  double rate(double base, int64_t iteration) const;

  /// Turns epochs into steps, and sets `total`. Throws Error where the kind lacks a value that it needs.
  void settle(int64_t perEpoch, int64_t steps);

  /// The names of all kinds, in their order, joined with ','.
  static constexpr char kNames[] =
      "constant,step,cosine,linear,cosine-restarts,one-cycle,multi-step,exponential,polynomial,plateau";
  /// Parses one of kNames; throws Error for another name.
  static Kind kindOf(const std::string &name);
};

} // namespace mpc::rt
