// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Converts between the logical order of a tensor and the order in which a buffer stores it.
#pragma once

#include "runtime/core/Tensor.h"

namespace mpc::rt {

/// Stored dimension i is logical dimension permutation[i]; an empty permutation is the identity. The constructor merges
/// dimensions of extent 1, and neighbours that stay neighbours, once.
class Transpose {
public:
  Transpose() = default;
  Transpose(const Shape &logical, const std::vector<int64_t> &permutation);

  /// Returns true when both orders are the same bytes.
  bool identity() const { return dims_.size() <= 1; }
  /// Both copy the whole tensor; source and target must not overlap.
  void toStored(const void *logical, void *stored, size_t elementBytes) const;
  void toLogical(const void *stored, void *logical, size_t elementBytes) const;

private:
  struct Dim {
    int64_t extent; // in stored order
    int64_t stride; // of the logical tensor, in elements
  };
  template <typename T, bool ToStored>
  void copy(const T *source, T *target) const;
  template <bool ToStored>
  void dispatch(const void *source, void *target, size_t elementBytes) const;

  std::vector<Dim> dims_;
  int64_t elements_ = 1;
};

} // namespace mpc::rt
