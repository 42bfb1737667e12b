//===- Registry.h - what an optimizer is ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_OPTIMIZERS_REGISTRY_H
#define MPC_TRAIN_OPTIMIZERS_REGISTRY_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Train/IR/Train.h"

namespace mpc::optimizers {

/// A hyperparameter is a number that the user may set. Booleans are 0 and 1.
struct Hyperparameter {
  llvm::StringLiteral name;
  double defaultValue;
  /// Values are in [least, below).
  double least, below;
  llvm::StringLiteral doc;
};

/// The values of an optimizer's hyperparameters.
class Hyperparameters {
public:
  /// `values` are in the order of the optimizer's hyperparameters.
  Hyperparameters(const Optimizer &optimizer, llvm::ArrayRef<double> values) : optimizer(optimizer), values(values) {}
  /// Returns the value of a hyperparameter that the optimizer has.
  double operator[](const Hyperparameter &hyperparameter) const;

private:
  const Optimizer &optimizer;
  llvm::ArrayRef<double> values;
};

/// Builds the update of one parameter; everything is fp32.
class UpdateContext {
public:
  graph::GraphBuilder b;
  /// The parameter's value before the step and its unscaled, clipped gradient: same shape, f32.
  mlir::Value parameter, gradient;
  /// The learning rate of this parameter's group, a tensor<f32>.
  mlir::Value lr;
  /// The weight decay of this parameter's group.
  double weightDecay;
  /// This is true where the parameter's group sets its weight decay to 0, as groups of norms and biases do.
  bool exempt;
  /// The slots' values before the step, in the order of Optimizer::slots, and after the step, which the optimizer sets.
  llvm::SmallVector<mlir::Value> slots, newSlots;
  /// The values that Optimizer::shared returned, in its order.
  llvm::ArrayRef<mlir::Value> shared;
  Hyperparameters hyper;

  /// Returns gradient + weightDecay * parameter: the decay is an L2 penalty of the loss.
  mlir::Value penalizedGradient() const;
  /// Returns parameter * (1 - lr * weightDecay): the decay is decoupled from the gradient.
  mlir::Value decayedParameter() const;
  /// Returns the Euclidean norm of all elements of x, a tensor<f32>; that of an empty tensor is 0.
  mlir::Value norm(mlir::Value x) const;
};

/// Builds scalars that all parameters of a step share, and their state.
class StepContext {
public:
  graph::GraphBuilder b;
  train::StepOp step;
  /// This tensor<i1> is true if the update is skipped; null means that it never is.
  mlir::Value skip;
  /// The number of updates before this one, a tensor<i64>.
  mlir::Value count;
  Hyperparameters hyper;

  /// Returns base^(updates including this one), a tensor<f64>, as a running product in `@"<step>/<suffix>"`. It is
  /// a product and not a power, because a product is exact enough (t roundings of 2^-53) and needs no library
  /// function on any target.
  mlir::Value runningPower(llvm::StringRef suffix, double base);
  /// Returns the product of the factors of all updates including this one, whose factor is the tensor<f64> `factor`.
  mlir::Value runningProduct(llvm::StringRef suffix, mlir::Value factor);
};

/// Names a state variable of a parameter: `@"<parameter>/<name>"`, which is f32 and zero at first.
struct Slot {
  Slot(const char *name) : name(name) {}
  Slot(const char *name, graph::Shape shape) : name(name), shape(std::move(shape)) {}

  llvm::StringRef name;
  /// Has the parameter's rank, because both are stored in the same order of dimensions; nullopt is its shape.
  std::optional<graph::Shape> shape;
};

struct Optimizer {
  llvm::StringLiteral name, doc;
  /// Every optimizer has these two: the program's schedule writes the one, and parameter groups change both.
  const Hyperparameter &lr, &weightDecay;
  /// All hyperparameters, those two included, in the order in which `#train.optimizer` and messages have them.
  llvm::ArrayRef<const Hyperparameter *> hyperparameters;
  /// Returns the state variables of a parameter of this shape.
  llvm::SmallVector<Slot> (*slots)(const Hyperparameters &hyper, llvm::ArrayRef<int64_t> shape);
  /// Builds the values that all parameters share; may be null.
  llvm::SmallVector<mlir::Value> (*shared)(StepContext &);
  /// Returns the new parameter and sets newSlots.
  mlir::Value (*update)(UpdateContext &);
  /// Reports values that are in range but do not go together; may be null.
  mlir::LogicalResult (*verify)(train::EmitError emitError, const Hyperparameters &hyper) = nullptr;
};

/// Returns all optimizers.
llvm::ArrayRef<const Optimizer *> allOptimizers();
const Optimizer *findOptimizer(llvm::StringRef name);
/// Describes each optimizer with its hyperparameters and defaults, for `--help` and errors.
std::string describeOptimizers();

extern const Optimizer sgd, adam, adamw, adagrad, rmsprop, nadam, lion, lars, lamb, adafactor;

} // namespace mpc::optimizers
#endif
