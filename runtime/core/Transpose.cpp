// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Transpose.h"

#include <cstring>

namespace mpc::rt {

// Small, and made once for many elements, so it is built for size, unlike the rest of this file.
[[gnu::cold]] Transpose::Transpose(const Shape &logical, const std::vector<int64_t> &permutation)
    : elements_(elementsOf(logical)) {
  if (permutation.empty())
    return;
  std::vector<int64_t> strides(logical.size());
  int64_t stride = 1;
  for (size_t i = logical.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= logical[i];
  }
  for (int64_t dim : permutation) {
    Dim next{logical[dim], strides[dim]};
    if (next.extent == 1)
      continue;
    if (!dims_.empty() && dims_.back().stride == next.stride * next.extent)
      dims_.back() = {dims_.back().extent * next.extent, next.stride};
    else
      dims_.push_back(next);
  }
}

template <typename T, bool ToStored>
void Transpose::copy(const T *source, T *target) const {
  if (elements_ == 0)
    return;
  // The loop walks the stored side in order; a counter over the outer dimensions keeps the logical position.
  size_t outer = dims_.size() - 1;
  Dim inner = dims_[outer];
  std::vector<int64_t> index(outer, 0);
  int64_t logical = 0;
  for (int64_t stored = 0; stored < elements_; stored += inner.extent) {
    for (int64_t i = 0; i < inner.extent; ++i) {
      if constexpr (ToStored)
        target[stored + i] = source[logical + i * inner.stride];
      else
        target[logical + i * inner.stride] = source[stored + i];
    }
    for (size_t d = outer; d-- > 0;) {
      logical += dims_[d].stride;
      if (++index[d] < dims_[d].extent)
        break;
      logical -= dims_[d].stride * dims_[d].extent;
      index[d] = 0;
    }
  }
}

template <bool ToStored>
void Transpose::dispatch(const void *source, void *target, size_t elementBytes) const {
  if (identity()) {
    if (elements_)
      std::memcpy(target, source, size_t(elements_) * elementBytes);
    return;
  }
  switch (elementBytes) {
  case 1:
    return copy<uint8_t, ToStored>(static_cast<const uint8_t *>(source), static_cast<uint8_t *>(target));
  case 2:
    return copy<uint16_t, ToStored>(static_cast<const uint16_t *>(source), static_cast<uint16_t *>(target));
  case 4:
    return copy<uint32_t, ToStored>(static_cast<const uint32_t *>(source), static_cast<uint32_t *>(target));
  default:
    return copy<uint64_t, ToStored>(static_cast<const uint64_t *>(source), static_cast<uint64_t *>(target));
  }
}

void Transpose::toStored(const void *logical, void *stored, size_t elementBytes) const {
  dispatch<true>(logical, stored, elementBytes);
}
void Transpose::toLogical(const void *stored, void *logical, size_t elementBytes) const {
  dispatch<false>(stored, logical, elementBytes);
}

} // namespace mpc::rt
