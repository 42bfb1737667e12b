//===- Registry.h - what an optimizer is ---------------------------------------------===//
#ifndef MPC_PASSES_OPTIMIZERS_REGISTRY_H
#define MPC_PASSES_OPTIMIZERS_REGISTRY_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace mpc::optimizers {

/// A number that the user may set. Booleans are 0 and 1.
struct Hyperparameter {
  llvm::StringLiteral name;
  double defaultValue;
  /// Values are in [least, below).
  double least, below;
  llvm::StringLiteral doc;
};

/// Builds the update of one parameter; everything fp32.
class UpdateContext {
public:
  mlir::OpBuilder &b;
  mlir::Location loc;
  /// The parameter's value before the step and its unscaled, clipped gradient: same shape, f32.
  mlir::Value parameter, gradient;
  /// Learning rate of this parameter's group. tensor<f32>.
  mlir::Value lr;
  /// The slots' values before the step, in the order of Optimizer::slots, and after it, to be set.
  llvm::SmallVector<mlir::Value> slots, newSlots;
  /// What Optimizer::shared returned, in its order.
  llvm::ArrayRef<mlir::Value> shared;
  const llvm::StringMap<double> &hyper;

  double get(llvm::StringRef name) const { return hyper.at(name); }
  // Elementwise arithmetic; a double is an f32 constant, scalars broadcast.
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, double y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value sqrt(mlir::Value x);
  /// A rank-0 constant of x's element type.
  mlir::Value constant(mlir::Value like, double v);
};

/// Builds scalars that all parameters of a step share, and their state.
class StepContext {
public:
  mlir::OpBuilder &b;
  train::StepOp step;
  /// tensor<i1> or null: this update does not happen.
  mlir::Value skip;
  /// Updates before this one. tensor<i64>.
  mlir::Value count;
  const llvm::StringMap<double> &hyper;

  double get(llvm::StringRef name) const { return hyper.at(name); }
  /// base^(updates including this one), tensor<f64>, as a running product in `@"<step>/<suffix>"`. A product
  /// and not a power: it is exact enough (t roundings of 2^-53) and needs no library function on any target.
  mlir::Value runningPower(llvm::StringRef suffix, double base);
};

struct Optimizer {
  llvm::StringLiteral name, doc;
  llvm::ArrayRef<Hyperparameter> hyperparameters;
  /// State variables of every parameter: `@"<parameter>/<slot>"`, f32, zero at first. May depend on
  /// hyperparameters.
  llvm::SmallVector<llvm::StringRef> (*slots)(const llvm::StringMap<double> &hyper);
  /// Values shared by all parameters; may be null.
  llvm::SmallVector<mlir::Value> (*shared)(StepContext &);
  /// The new parameter; sets newSlots.
  mlir::Value (*update)(UpdateContext &);
};

/// All optimizers, by name.
llvm::ArrayRef<const Optimizer *> allOptimizers();
const Optimizer *findOptimizer(llvm::StringRef name);
/// One line per optimizer with its hyperparameters and defaults, for `--help` and errors.
std::string describeOptimizers();

extern const Optimizer sgd, adam, adamw, adagrad;

} // namespace mpc::optimizers
#endif
