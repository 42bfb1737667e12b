//===- GradientCase.h - one op on given inputs, to be differentiated ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_GRADIENTS_GRADIENTCASE_H
#define MPC_TEST_GRADIENTS_GRADIENTCASE_H
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>

namespace mpc::test {

using graph::Shape;
using mlir::Location;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::Value;
using mlir::ValueRange;

/// An operand. Float operands are differentiated, in f64; Stat operands are fp32 where Float operands are f16.
struct Input {
  enum Kind { Float, Stat, I64, I16, I1 };
  Shape shape;
  Kind kind;
  std::vector<double> values;
  bool frozen = false;
};

struct Case {
  std::string name; // such as "conv: groups, channels_last"
  std::vector<Input> inputs;
  /// Builds the op. Constants that it creates in addition to the inputs are not differentiated.
  std::function<Operation *(OpBuilder &, Location, ValueRange)> build;
  /// The first results get cotangents, as many as this says; other float results get none.
  unsigned firstResultsOnly = ~0u;
};

/// The cases of each file.
void addUnaryCases(std::vector<Case> &);
void addBinaryCases(std::vector<Case> &);
void addReduceCases(std::vector<Case> &);
void addTensorCases(std::vector<Case> &);
void addMatmulCases(std::vector<Case> &);
void addAttentionCases(std::vector<Case> &);
void addPoolingCases(std::vector<Case> &);
void addNormalizationCases(std::vector<Case> &);
void addScanCases(std::vector<Case> &);
const std::vector<Case> &allCases();

//===-- Inputs, from one generator with a fixed seed ---------------------------------===//

double uniformNumber(double low, double high);
/// Returns numbers that are uniform in [low, high] and at least `margin` away from each of `kinks`.
Input uniform(Shape shape, double low, double high, std::vector<double> kinks = {}, double margin = 0.05);
inline Input uniform(Shape shape) { return uniform(std::move(shape), -1.5, 1.5); }
/// Returns elements that differ by at least 0.1, in random order. `offset` keeps two such inputs apart.
Input distinct(Shape shape, double offset = 0);
Input numbers(Shape shape, std::vector<double> values);
Input integers(Shape shape, std::vector<double> values);
Input frozen(Input input);
Input stat(Input input);

//===-- IR ------------------------------------------------------------------------------===//

/// Returns a context with the dialects loaded and the evaluator's models attached. The process has only one.
mlir::MLIRContext &testContext();

/// The module of a case: func @primal(inputs) -> results, and func @vjp(inputs, cotangents of the float
/// results that have one)
/// -> gradients of the needed operands that are inputs, in order. Building it fails if the op's VJP does.
struct BuiltCase {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Operation *primal;                      // the op in @primal
  mlir::SmallVector<unsigned> gradientOf; // the input that each result of @vjp belongs to
  mlir::SmallVector<mlir::RankedTensorType> cotangents;
};
llvm::FailureOr<BuiltCase> buildCase(const Case &c, mlir::FloatType element,
                                     llvm::function_ref<bool(unsigned input)> needed);
HostTensor inputTensor(const Input &input, mlir::FloatType element);

/// Runs all cases in f64, without rounding, with cotangents that have no pattern, and calls `visit` with each op that
/// has run, in @primal or in @vjp, and its operands' values.
void forEachOpRun(llvm::function_ref<void(Operation *, llvm::ArrayRef<HostTensor> operands)> visit);

} // namespace mpc::test
#endif
