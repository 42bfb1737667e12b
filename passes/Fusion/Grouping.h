//===- Grouping.h - which ops share a launch ----------------------------------===//
//
// The decisions of the fusion pass, without the rewriting: which values are roots, that is, stored in memory,
// and which roots share a group.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_FUSION_GROUPING_H
#define MPC_PASSES_FUSION_GROUPING_H
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Fusion/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mpc::fusion {

/// How fusion treats an op.
enum class OpKind {
  Outside,   // not computed by a dispatch: reads, assigns, constants with data, views
  Free,      // costs nothing to repeat: splat constants, iota, widening casts, broadcasts
  Pointwise, // elementwise arithmetic
  Movement,  // loads one element for each element, from another index: may be inlined into a single user
  Reduction,
  Single, // has a loop nest of its own
  Library // matmul and convolutions
};
OpKind kindOf(mlir::Operation *op);

enum class GroupKind {
  Pointwise,
  Reduction,
  Row,
  Single,
  Library,
  Repeat ///< a scan, which has launches of its own: it is no launch, but others must not be merged around it
};

/// A group is one launch; its roots are the ops whose results it stores.
struct Group {
  GroupKind kind;
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

/// What a launch computes behind a matrix product or convolution.
enum class Epilogues {
  Bias, ///< a bias for each column, which libraries can add (their relu gives 0 for NaN, by the CPU's maximum, where ours gives NaN)
  Pointwise ///< any arithmetic on the elements of the result, with other tensors as operands, which generated kernels can do
};

/// Groups the ops of a block.
class Grouping {
public:
  Grouping(mlir::Block &block, Epilogues epilogues);

  /// Returns whether the groups could be ordered. If they could not, they read one another, which is a defect.
  bool isOrdered() const { return ordered.size() == owned.size(); }
  /// The groups in an order in which each reads only earlier ones.
  llvm::ArrayRef<std::unique_ptr<Group>> groups() const { return ordered; }
  /// Whether the op is computed inside the dispatches that use it (and cloned into each).
  bool isInlined(mlir::Operation *op) const { return inlined.contains(op); }

private:
  bool canInline(mlir::Operation *producer, mlir::Operation *user) const;
  void chooseRoots();
  void fuseEpilogue(mlir::Operation *hero);
  void formGroups();
  bool shouldJoin(const Group &producer, const Group &group, mlir::Operation *root);
  void mergeProducers(mlir::Operation *root);
  void mergeSiblings();
  bool readsView(Group *reader, Group *writer);
  bool canMerge(Group *a, Group *b);
  bool mayReachThroughOthers(Group *first, Group *last);
  void merge(Group *into, Group *from);
  void order();
  /// A root together with the ops inlined into it: the stored values that computing it reads, its number of
  /// ops, and whether one is a library call.
  struct Cone {
    llvm::SetVector<mlir::Value> inputs;
    llvm::SmallPtrSet<mlir::Value, 2> moved; ///< inputs that are read at other indices than the root's
    int64_t ops = 0;
    bool hasLibrary = false;
  };
  const Cone &coneOf(mlir::Operation *root);
  const llvm::SetVector<mlir::Value> &inputsOf(mlir::Operation *root) { return coneOf(root).inputs; }
  /// The other groups whose values a group reads.
  llvm::SetVector<Group *> producersOf(Group *group);

  mlir::Block &block;
  Epilogues epilogues;
  llvm::DenseSet<mlir::Operation *> absorbed; ///< the ops that launches of heroes have absorbed
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  llvm::DenseSet<mlir::Operation *> inlined;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Cone>> cones;
  llvm::DenseMap<mlir::Operation *, Group *> groupOf;
  std::vector<std::unique_ptr<Group>> owned, ordered;
};

/// The op that computes a value, through reshapes; null for arguments.
mlir::Operation *storedBy(mlir::Value v);

} // namespace mpc::fusion
#endif
