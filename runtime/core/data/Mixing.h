// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mixup and cutmix: the samples of a batch of training are mixed with each other, pictures and labels alike.
#pragma once

#include "runtime/core/Manifest.h"

#include <string>
#include <vector>

namespace mpc::rt {

class Threads;

/// Rows and columns of a picture: [top, bottom) and [left, right).
struct Box {
  int64_t top, left, bottom, right;
};

/// Says how the samples of one batch are mixed. The partner of sample i is sample i - 1, and that of the first is the
/// last, as in torchvision.
struct Mix {
  double own = 1;              // the sample's share of its label; the partner has the rest
  std::optional<Box> box = {}; // cutmix: these pixels are the partner's; mixup: pixels have the labels' shares
};

/// What --augment says about mixing.
struct Mixing {
  std::string input;            // the pictures that are mixed
  double mixup = 0, cutmix = 0; // alpha of Beta(alpha, alpha), the distribution of shares; 0: there is no such step

  bool empty() const { return mixup == 0 && cutmix == 0; }
  /// Returns "mixup:0.2,cutmix:1", or "".
  std::string text() const;
  /// Takes the steps `mixup[:ALPHA]` and `cutmix[:ALPHA]` out of the steps of an input, which stay in their order.
  /// Throws Error.
  static Mixing take(std::string &steps, const std::string &input);
  /// Returns how a batch of pictures of this size is mixed, a function of the arguments. Where both steps are given,
  /// each batch has one of them, with equal probability.
  Mix draw(uint64_t seed, int64_t epoch, int64_t batch, int64_t height, int64_t width) const;
};

/// Returns a number with the distribution Beta(alpha, alpha), made of two uniform numbers in [0, 1).
double symmetricBeta(double alpha, double first, double second);

/// Mixes the samples of an input in its buffer, which has the stored order. With `pixels` the port takes pictures, of
/// which cutmix exchanges the pixels of the box; else it takes labels. `scratch` is reused between calls.
void mixSamples(const Port &port, int64_t samples, const Mix &mix, bool pixels, std::byte *stored,
                std::vector<std::byte> &scratch, Threads &threads);

} // namespace mpc::rt
