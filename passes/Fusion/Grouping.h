//===- Grouping.h - which ops share a launch ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of the fusion pass, without the rewriting: which values are roots, that is, stored in memory,
// and which roots share a group.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_FUSION_GROUPING_H
#define MPC_PASSES_FUSION_GROUPING_H
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Fusion/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mpc::fusion {

/// The most ops behind a product that its launch computes with other operands, or stores besides: a GELU has 12, its
/// gradient 20.
inline constexpr int64_t kMostBesideProducts = 32;

/// Returns whether no dispatch computes the op: views, scans, constants with data, and ops that are no part of a loop
/// nest (reads, assignments).
bool isOutside(mlir::Operation *op);
/// Returns whether the op costs nothing to repeat: splat constants, indices, widening casts, broadcasts,
/// samples.
bool isFree(mlir::Operation *op);
/// Returns whether the op is elementwise and not free.
bool isArithmetic(mlir::Operation *op);

/// A group is one launch; its roots are the ops whose results it stores. A scan has a group too, since others must not
/// be merged around it, but has launches of its own.
struct Group {
  /// The form that its loops will have, as far as grouping has to know; the dispatch gets the one that its body has
  /// (kernel::formOf). Nullopt for a scan.
  std::optional<kernel::Form> form;
  /// True if nothing joins the group: it is a product, a scan, or an op whose elements are read in another order than
  /// they are computed in (pooling, transposes, scatters). On GPUs sums over a product's rows join it all the same.
  bool alone = false;
  /// The product of a launch that has one; null in others.
  mlir::Operation *contraction = nullptr;
  llvm::SetVector<mlir::Operation *> roots;
  /// The iteration shape, and the axes of reductions and rows.
  graph::Shape shape, axes;
  /// The position of the last root in program order, which is where the launch stands.
  int64_t position = 0;
  /// The number of ops that its loops compute, including inlined ones.
  int64_t ops = 0;
  /// A number greater than the rank of every group that it reads.
  int64_t rank = 0;
  /// The roots that read its values; roots of this group may be among them.
  llvm::SmallVector<mlir::Operation *, 4> readers;
};

/// Groups the ops of a block.
class Grouping {
public:
  /// `gpu` is null where the block is compiled for the host.
  Grouping(mlir::Block &block, const GpuArch *gpu);

  /// Returns whether the groups could be ordered. If they could not, they read one another, which is a defect.
  bool isOrdered() const { return ordered.size() == owned.size(); }
  /// The groups in an order in which each reads only earlier ones.
  llvm::ArrayRef<std::unique_ptr<Group>> groups() const { return ordered; }
  /// Whether the op is computed inside the dispatches that use it (and cloned into each).
  bool isInlined(mlir::Operation *op) const { return inlined.contains(op); }

private:
  // Roots.cpp
  bool canInline(mlir::Operation *producer, mlir::Operation *user) const;
  bool readsSamplesOnly(mlir::Operation *op) const;
  void chooseRoots();
  bool readsLittleBeside(mlir::Operation *op, mlir::Operation *chain, llvm::SetVector<mlir::Value> &loads) const;
  void fuseEpilogue(mlir::Operation *contraction);
  void moveRowsIntoAttentions();

  // Joins.cpp
  bool joinsProduct(const Group &product, const Group &sums);
  bool storesBesideProduct(const Group &product, const Group &group);
  bool storesInParts(const Group &producer, mlir::Operation *root) const;
  bool shouldJoin(const Group &producer, const Group &group, mlir::Operation *root);
  void mergeProducers(mlir::Operation *root);
  bool mayShareReads(Group *a, Group *b);
  void mergeSibling(mlir::Operation *reduction);
  void mergeSiblings();

  // Grouping.cpp
  bool isReadHereAlone(mlir::Operation &op) const;
  void formGroups();
  bool readsView(Group *reader, Group *writer);
  bool canMerge(Group *a, Group *b);
  bool mayReachThroughOthers(Group *first, Group *last);
  void merge(Group *into, Group *from);
  void order();

  /// A root together with the ops inlined into it: the stored values that computing it reads, its number of
  /// ops, the contraction among them, if there is one, and whether one draws random numbers.
  struct Cone {
    llvm::SetVector<mlir::Value> inputs;
    llvm::SmallPtrSet<mlir::Value, 2> moved; ///< inputs that are read at other indices than the root's
    int64_t ops = 0;
    mlir::Operation *contraction = nullptr;
    bool draws = false;
  };
  const Cone &coneOf(mlir::Operation *root);
  const llvm::SetVector<mlir::Value> &inputsOf(mlir::Operation *root) { return coneOf(root).inputs; }
  /// The other groups whose values a group reads.
  llvm::SetVector<Group *> producersOf(Group *group);

  mlir::Block &block;
  const GpuArch *gpu;
  llvm::DenseSet<mlir::Operation *> absorbed; ///< the ops that follow a contraction in its launch
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  llvm::DenseSet<mlir::Operation *> inlined;
  llvm::DenseSet<mlir::Operation *> samples; ///< the inlined ops that read nothing but samples of tensors
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Cone>> cones;
  llvm::DenseMap<mlir::Operation *, Group *> groupOf;
  /// The reductions so far that read all of a value, by the op that stores it; values of one launch of reductions have
  /// the first of its roots as their key.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 2>> reductionsOf;
  std::vector<std::unique_ptr<Group>> owned, ordered;
};

/// The shape of the op's first result.
inline llvm::ArrayRef<int64_t> resultShape(mlir::Operation *op) { return graph::shapeOf(op->getResult(0)); }
/// The op that computes a value, through reshapes; null for arguments.
mlir::Operation *storedBy(mlir::Value v);

} // namespace mpc::fusion
#endif
