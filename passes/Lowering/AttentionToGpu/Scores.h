//===- Scores.h - scores of an attention in the fragments of a warp -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ATTENTIONTOGPU_SCORES_H
#define MPC_LOWERING_ATTENTIONTOGPU_SCORES_H
#include "dialects/Graph/IR/AttentionForm.h"
#include "passes/Lowering/AttentionToGpu/HeadTile.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc::attention {

/// log2(e), by which exponents become those of 2.
inline constexpr double log2E = 1.4426950408889634;

/// The kernels of attention and of its gradient share this arithmetic on fragments. A fragment
/// of 16 x 8 numbers is four f32 of each thread: number 2 h + p is at row lane / 4 + 8 h, column 2 (lane mod 4) + p
/// (PTX ISA, mma.m16n8k16).
class Fragments {
public:
  Fragments(Code c, ElementEmitter &e, mlir::Operation *op, const graph::AttentionForm &form, Value thread);

  Code c;
  ElementEmitter &e;
  mlir::Operation *op; ///< the attention or its gradient
  const graph::AttentionForm &form;
  mlir::FloatType element; ///< of q, k and v
  Value lane, warp;

  kernel::MmaType productType() const { return element.isF16() ? kernel::MmaType::F16 : kernel::MmaType::BF16; }
  Value zero() { return c.constant(c.b.getF32Type(), 0); }
  Value exp2(Value x);
  /// Adds a b to d, for one block of 8 columns; b has two registers.
  void multiply(llvm::MutableArrayRef<Value> d, llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b);
  /// Rounds two numbers to the element type and puts them into one register.
  Value pack(Value low, Value high);
  /// Returns the fragments of two blocks of 8 columns as a fragment of A with 16 of k.
  Values asFactor(llvm::ArrayRef<Value> blocks);
  /// Returns the row of the thread's numbers 0 and 1 in the warp's 16 rows; numbers 2 and 3 are 8 rows further down.
  Value row() { return c.div(lane, 4); }
  /// Returns the column of the thread's even numbers in a block of 8 columns.
  Value column() { return c.mul(c.rem(lane, 4), 2); }
  /// Combines what the four threads of a row have.
  template <typename Fn>
  Value acrossRow(Value x, Fn combine) {
    for (int distance : {1, 2})
      x = combine(x, kernel::ShuffleOp::create(c.b, x.getType(), kernel::ShuffleMode::Xor, x, c.i32(distance)));
    return x;
  }
};

/// This is the position of a score: the numbers (i32) of its query and key, and the same as indices, which are inside
/// of the tensors even where the score is not.
struct Place {
  Value query, key;
  Index queryIndex, keyIndex;
};

/// This makes the scores of one head of one sample.
class Scores {
public:
  /// The numbers of sample and head are i32.
  Scores(Fragments &f, Value sample, Value head);

  Index queryIndex(Value query) { return inside(query, f.form.queries()); }
  Index keyIndex(Value key) { return inside(key, f.form.keys()); }
  /// Returns s of graph.attention, given q k^T, and whether the key is hidden, which is null where none is.
  std::pair<Value, Value> scoreOf(Value product, const Place &place);

  /// Returns whether scores are products with the scale alone, of which some may be hidden. Then a score stays a
  /// product until its difference to the largest one is scaled, and a hidden one is -infinity.
  bool arePlain() const;
  /// Returns by how much a plain score is multiplied to be an exponent of 2.
  double exponentOf() const { return f.form.scale * log2E; }
  /// Hides plain scores in a tile of some queries, `firstQuery` and those behind it, and some keys. `numbers` are what
  /// the thread has of the tile: `placeOf(i)` says where number i is, and `exists(place)` whether it is of the tensors
  /// (null: all are). A tile in which none is hidden takes a comparison.
  void hide(Values &numbers, Value firstQuery, int64_t queries, Value firstKey, int64_t keys,
            llvm::function_ref<Place(size_t)> placeOf, llvm::function_ref<Value(const Place &)> exists);

  /// Returns x of the score, dropped out: 0, or x / (1 - ratio).
  Value dropped(Value x, const Place &place);

  /// Returns the first tile of `extent` keys that `count` queries from `first` on may see, and the one behind the last
  /// (i32). The other function does so for keys and the queries that may see them.
  std::pair<Value, Value> keyTiles(Value first, int64_t count, int64_t extent);
  std::pair<Value, Value> queryTiles(Value firstKey, int64_t count, int64_t extent);

private:
  Index inside(Value number, int64_t extent);
  Value read(Value tensor, const Place &place);
  /// Returns whether mask or band hide the score; null where there is neither.
  Value isHidden(const Place &place);
  std::pair<Value, Value> tiles(Value first, int64_t count, int64_t extent, std::optional<int64_t> down,
                                std::optional<int64_t> up, int64_t all);

  Fragments &f;
  Index sample, head;
};

} // namespace mpc::attention
#endif
