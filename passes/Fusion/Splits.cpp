//===- Splits.cpp - which reductions take two launches, and into how many pieces -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Fusion/Splits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace mpc;
using namespace mpc::fusion;
using graph::Shape;

namespace {
/// The numbers that decide when a reduction has too few results to keep a target busy, and into how many
/// pieces it is then split.
struct Sizes {
  int64_t wantedPieces;  ///< the number that keeps a large machine busy
  int64_t enoughPieces;  ///< the number that is enough where it spares a reshape
  int64_t mostPieces;    ///< more than this would be too many to sum up afterwards
  int64_t leastElements; ///< for an operand with fewer, one more launch costs more than it gains
  int64_t leastPiece;    ///< the fewest elements of a piece
  int64_t columns;       ///< the columns that one slice or block of a column reduction takes
};
} // namespace

static Sizes sizesFor(const GpuArch *gpu) {
  // On the host the columns are a slice of its column reduction (KernelToHost/Nest.cpp). Sixty-four slices
  // keep a large machine busy.
  if (!gpu)
    return {.wantedPieces = 64,
            .enoughPieces = 32,
            .mostPieces = 512,
            .leastElements = 1 << 16,
            .leastPiece = 1024,
            .columns = 32};
  // On a GPU the columns are those of 32 threads with 16 bytes of f16 each (KernelToGpu/GpuReductions.cpp). Four
  // blocks keep a multiprocessor busy; about one for each multiprocessor (the nearest power of two, as extents
  // often are) is enough where that spares the reshape. A piece is worth a block when its 256 threads have 16
  // elements each.
  return {.wantedPieces = 4 * gpu->multiprocessors,
          .enoughPieces = int64_t(llvm::bit_floor(unsigned(gpu->multiprocessors) * 4 / 3)),
          .mostPieces = 2048,
          .leastElements = 1 << 15,
          .leastPiece = 4096,
          .columns = 256};
}

Shape Split::replaced(llvm::ArrayRef<int64_t> numbers, int64_t first, int64_t second) const {
  Shape result(numbers.take_front(begin));
  result.append({first, second});
  llvm::append_range(result, numbers.drop_front(end));
  return result;
}

std::optional<Split> fusion::splitOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes, const GpuArch *gpu) {
  Sizes sizes = sizesFor(gpu);
  int64_t rank = shape.size(), total = llvm::product_of(shape);
  if (axes.empty() || total < sizes.leastElements)
    return std::nullopt;
  auto isReduced = [&](int64_t d) { return llvm::is_contained(axes, d); };

  // The slices that the unsplit reduction has: kept elements, in blocks where the innermost dimension is kept.
  int64_t last = rank - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  int64_t columns = 1, kept = 1;
  for (int64_t d = last; d >= 0 && !isReduced(d); --d)
    columns *= shape[d];
  for (int64_t d = 0; d < rank; ++d)
    kept *= isReduced(d) ? 1 : shape[d];
  int64_t slices = isReduced(last) ? kept : kept / columns * ((columns + sizes.columns - 1) / sizes.columns);
  if (slices * 2 > sizes.wantedPieces)
    return std::nullopt;

  Split split{.rank = rank};
  while (!isReduced(split.begin) || shape[split.begin] == 1)
    if (++split.begin == rank)
      return std::nullopt;
  split.end = split.begin;
  while (split.end < rank && isReduced(split.end))
    ++split.end;
  int64_t run = llvm::product_of(shape.slice(split.begin, split.end - split.begin));
  // As many whole dimensions of the run are kept as make enough pieces.
  int64_t keep = split.begin, pieces = 1;
  while (keep < split.end && pieces * slices < sizes.enoughPieces)
    pieces *= shape[keep++];
  if (pieces * slices >= sizes.enoughPieces && run / pieces >= 8)
    (pieces <= sizes.mostPieces ? split.whole : split.other) = keep;
  else if (keep - 1 > split.begin)
    split.other = keep - 1;
  int64_t most =
      std::min((sizes.wantedPieces + slices - 1) / slices, std::max<int64_t>(1, total / slices / sizes.leastPiece));
  for (int64_t d = 2; d <= most; ++d)
    if (run % d == 0)
      split.outer = d;
  split.inner = run / split.outer;
  if (split.whole == 0 && split.outer == 1 && (split.other == 0 || !gpu))
    return std::nullopt;
  // On a GPU whole dimensions may make pieces that are far below what is worth a block. On the host the pieces of a
  // sum follow from its shape alone: whether its operands can be reshaped depends on what else the dispatch computes.
  split.prefersWhole =
      split.whole != 0 && (!gpu || split.outer == 1 || 2 * (total / slices / pieces) >= sizes.leastPiece);
  return split;
}
