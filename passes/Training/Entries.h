//===- Entries.h - building one entry from @forward ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_ENTRIES_H
#define MPC_PASSES_TRAINING_ENTRIES_H
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc::training {
class PerSample;

/// A value with the attributes that it will carry as an entry's result.
struct EntryResult {
  mlir::Value value;
  mlir::DictionaryAttr attributes;
};

/// This describes the scores whose labels an argument holds.
struct LabelsOf {
  std::string scores; ///< the network's output
  llvm::SmallVector<int64_t> shape;
  int64_t axis; ///< the dimension of the classes
  bool assumed; ///< true if nobody said that they are classes
};

/// This describes the sequences of classes that an argument holds.
struct SequencesOf {
  std::string lengths, inputLengths; ///< data inputs; the second may be empty
  int64_t blank, classes, frames;
  bool zeroInfinity; ///< true if the frames of a sample need not be able to spell its sequence
};

/// The builder holds a copy of @forward's body that becomes an entry. The copy has no terminator until it is finished;
/// `builder` stands at its end.
class EntryBuilder {
public:
  explicit EntryBuilder(mlir::func::FuncOp forward);

  mlir::Block &block() { return region.front(); }
  /// Returns the network's outputs, their names and values, except those that carried states become.
  llvm::ArrayRef<std::pair<std::string, mlir::Value>> outputs() const {
    return llvm::ArrayRef(networkOutputs).drop_back(numCarried);
  }
  /// Returns the network's output of this name, or null; it may be one that a carried state becomes.
  mlir::Value output(llvm::StringRef name) const;
  /// Returns the data input of this name, or null.
  mlir::Value argument(llvm::StringRef name);
  /// Returns whether a variable is a carried state.
  bool carries(mlir::FlatSymbolRefAttr variable) const { return carriedStates.contains(variable); }
  /// Replaces a value everywhere, the network's outputs included.
  void replace(mlir::Value from, mlir::Value to);
  /// Adds a data input.
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type, bool batched);
  /// Keeps a data input although no op uses it.
  void keepArgument(mlir::Value argument) { kept.push_back(argument); }
  /// Returns the name of an argument; "" for other values.
  llvm::StringRef argumentName(mlir::Value v) const;
  /// Declares that the data input that `labels` is a view of holds classes in [0, classes), or `ignored`.
  void boundLabels(mlir::Value labels, int64_t classes, std::optional<int64_t> ignored = {});
  /// Records for messages about the data which scores the labels belong to.
  void describeLabels(mlir::Value labels, const LabelsOf &of);
  /// Declares that a data input holds lengths in [0, most].
  void boundLengths(mlir::Value lengths, int64_t most);
  /// Declares that a data input holds such sequences.
  void describeSequences(mlir::Value targets, const SequencesOf &of);
  /// Notes what was chosen where the user said nothing: "--loss=...: why".
  void assume(std::string choice) { choices.push_back(std::move(choice)); }
  llvm::ArrayRef<std::string> assumptions() const { return choices; }
  /// Returns the leading dimension of the batched inputs; nullopt when no input is batched.
  std::optional<int64_t> batchSize();
  /// Follows the samples through all ops that the entry has now.
  PerSample perSample();
  /// Returns whether it is certain that the leading dimension of a value counts samples, each of which decides its own
  /// part alone. It may be true also where this is false.
  bool countsSamples(mlir::Value v);
  /// Returns whether some sample, or a state that samples have changed, decides a part of a value.
  bool dependsOnSamples(mlir::Value v);
  /// Returns the dimension of a value each index of which one sample alone decides, where that is certain.
  std::optional<int64_t> samplesDim(mlir::Value v);

  /// Appends a result. `name` may be empty.
  void addResult(mlir::Value v, llvm::StringRef role, llvm::StringRef name = "");
  bool hasResult(llvm::StringRef name) const;

  /// Drops dead ops and unused inputs, adds the terminator and moves everything into a func.func at `at`.
  mlir::func::FuncOp finishFunction(mlir::OpBuilder &at, llvm::StringRef name);
  /// Does the same into a train.step; the caller fills in what it trains.
  train::StepOp finishStep(mlir::OpBuilder &at, llvm::StringRef name, mlir::ArrayAttr parameters,
                           train::OptimizerAttr optimizer, train::ScalerAttr scaler);

  const mlir::Location loc;
  mlir::OpBuilder builder;

private:
  bool dependsOnState(mlir::Value v) const;
  /// Marks each result whose leading dimension counts samples, and each result that does not depend on any sample.
  void markSamples();
  void prune();
  mlir::FunctionType functionType();

  mlir::Region region;
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  llvm::SmallVector<std::pair<std::string, mlir::Value>> networkOutputs; // the last numCarried are carried
  llvm::DenseSet<mlir::Value> statedSamples; // outputs whose leading dimension the file calls the batch
  size_t numCarried = 0;
  llvm::DenseSet<mlir::Attribute> carriedStates; // symbols
  llvm::SmallVector<EntryResult> results;
  llvm::SmallVector<mlir::Value> kept;
  llvm::SmallVector<std::string> choices;
};

/// Returns the value that x is made of by reshapes and casts, or x itself.
mlir::Value stripViews(mlir::Value x);

} // namespace mpc::training
#endif
