//===- Import.h - the state of one import --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_IMPORT_H
#define MPC_IMPORT_ONNX_IMPORT_H
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Roles.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Regex.h"
#include <unordered_map>

namespace mpc::onnx_import {

class Import {
public:
  Import(mlir::MLIRContext *, const ImportOptions &, ImportReport &);

  /// Builds the module. Returns null when the report has problems afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> run(Model &);

  mlir::MLIRContext *context;
  const ImportOptions &options;
  ImportReport &report;
  mlir::OpBuilder builder;

  /// A graph input, as the file declares it.
  struct InputDim {
    std::optional<int64_t> value;
    std::string name;
  };
  struct Input {
    std::string name;
    mlir::Type element;
    std::vector<InputDim> dims;
  };

  //===-- For converters ---------------------------------------------------------===//
  /// Whether norms and dropouts in inference form are to train.
  bool turnsOn() const { return modeOfInference == TrainingMode::Train; }
  /// Whether a norm trains because torch's metadata say so.
  bool believesTorch() const { return !options.forwardOnly && options.mode != TrainingMode::AsExported; }
  /// Adds a note that a norm or a dropout stays in inference form although the user did not ask for that.
  void noteKept(const std::string &op, mlir::Location node);
  bool updatesState() const { return !options.forwardOnly; }
  /// The batch that the data inputs had and the one that they have now, when --batch changed it.
  std::optional<std::pair<int64_t, int64_t>> rebound;
  /// Assigns the variable's value for the next step.
  void assign(const std::string &variable, mlir::Value value, mlir::Location);
  /// Forgets the assignments within an op that is about to be erased.
  void dropAssignments(mlir::Operation *within);
  /// The variable for the running statistics at an input of a node. It is the one that the input reads; or,
  /// when another node assigns that (except in files that tell what the module shares) or the input is a
  /// constant, a variable for this input alone. Empty when the input is computed.
  std::string ownStatistics(Node &node, size_t input);
  /// The result of the train.read of a variable.
  mlir::Value read(const std::string &variable);
  /// The value that a variable has after the assignments so far, or else its read, so that each of several
  /// updates continues from the last one.
  mlir::Value latest(const std::string &variable);
  /// The seed and step operands of random ops.
  mlir::Value rngSeed();
  mlir::Value rngStep();
  /// The stream of random numbers that a node draws from; `draws` is the name of the value that it makes.
  int64_t &streamOf(const std::string &draws) { return streams[draws]; }
  /// These are the positions that positionsOf (Counted.h) has made of each mask, so that two uses of one mask have the
  /// same rows.
  struct MaskPositions {
    mlir::Value mask, positions, count;
  };
  std::vector<MaskPositions> positions;
  /// Marks the argument that the labels come from, which a loss compares with `classes` scores.
  void markLabels(mlir::Value labels, int64_t classes, std::optional<int64_t> ignoreIndex);
  /// Marks the argument that indices come from: they index a dimension of `extent` elements, negative ones
  /// from its end. Adds a note where they come from data but cannot be bounded; `node` uses them.
  void markIndices(mlir::Value indices, int64_t extent, mlir::Location node);
  /// Does the same for [..., k] indices into k dimensions.
  void markIndices(mlir::Value indices, llvm::ArrayRef<int64_t> extents, mlir::Location node);
  /// Marks the argument that lengths within a dimension of `extent` elements come from. Adds a note where they come
  /// from data but cannot be bounded; `node` uses them.
  void markLengths(mlir::Value lengths, int64_t extent, mlir::Location node);
  /// Imports a subgraph's nodes in place, in a scope of their own; returns its outputs. Throws ImportError
  /// for a cycle, for names that the graph around it uses, and for outputs that no node makes.
  std::vector<Entry> inlineGraph(onnx::GraphProto &, int64_t opset, mlir::Location, llvm::ArrayRef<Entry> inputs = {});
  /// Adds a note about something that the importer changed; each text is reported once.
  void note(const std::string &text, const std::string &node);
  void note(const std::string &text, mlir::Location node) {
    note(text, mlir::cast<mlir::NameLoc>(node).getName().str());
  }
  mlir::Value materialize(Entry &);
  /// Reports that the graph inputs that a value is computed from have to be constants.
  void needConstants(mlir::Value);
  Model &model() { return *current; }
  bool isUsed(const std::string &value) const { return useCount.count(value) != 0; }
  /// Returns whether the file states that a value is one number.
  bool statesNumber(const std::string &name) const;
  std::string takeDiagnostics();
  /// Problems that the current node has reported without stopping (Node::unsupported).
  std::vector<ImportProblem> unsupported;

private:
  struct Part;
  /// Lets `bound` add the attributes that say which values the data may have, on the argument that a value,
  /// or a part of it, comes from. Returns false when ops other than slices and views lie between.
  bool boundData(mlir::Value, Part, llvm::function_ref<void(mlir::NamedAttrList &)> bound);
  using Scope = std::unordered_map<std::string, Entry>;
  Model *current = nullptr;
  TrainingMode modeOfInference = TrainingMode::AsExported; // what Auto means for this file
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  Scope values;
  std::unordered_map<std::string, int64_t> useCount;
  std::unordered_map<std::string, mlir::Value> reads;
  std::set<std::string> symbols;
  std::map<std::string, train::AssignOp> assigned;  // keyed by variable
  std::unordered_map<std::string, int64_t> streams; // streams of random nodes, keyed by the value that they make
  std::map<std::string, std::pair<size_t, std::string>>
      noted; // maps a text to how often it was noted, and the first node
  std::vector<std::string> noteOrder;
  std::string diagnostics; // emitted by MLIR since the last takeDiagnostics

  void problem(ImportProblem);
  void bindInitializers();
  void noteSuspicious(const std::string &name, const HostTensor &, size_t uses);
  void bindInputs();
  /// Checks that every pattern of the user's matches something, and leaves something to train.
  void checkPatterns();
  void convertNodes(std::vector<FlatNode> &);
  void convert(onnx::NodeProto &, int64_t opset, const std::string &location, int64_t index);
  /// Ends gradients at a node's results where the file or the user says so, and assigns results to the buffers that
  /// the network updates itself.
  void finishOutputs(const onnx::NodeProto &, mlir::Location);
  bool stopsGradient(const std::string &value);
  void bindOutputs();
  /// Returns whether the file gives an output's first dimension, and no other one, the name of the batch.
  bool countsSamples(const onnx::ValueInfoProto &output, llvm::ArrayRef<int64_t> made) const;
  void recordValues();
  // StandIn.cpp
  void collectStatedTypes();
  /// The type that the file states for a value, with every dimension bound; null when the file does not state
  /// it or it is not a float type.
  mlir::RankedTensorType statedType(const std::string &name);
  /// Gives each result of a failed node a value of its stated type, or poison.
  void standIn(const onnx::NodeProto &, mlir::Location);
  void define(const std::string &name, Entry entry);
  /// Returns `name`, or another name if a symbol has it already.
  std::string symbolFor(const std::string &name);
  /// Adds the variable of an initializer or a graph input; returns its symbol.
  std::string addVariable(const std::string &name, train::Role, mlir::RankedTensorType, mlir::Attribute init);
  /// Adds a buffer that serves one input of one node; `value` is the model's name for that input.
  std::string addBuffer(const std::string &name, const std::string &value, Node &, size_t input, mlir::Attribute init);
  mlir::OpBuilder variableBuilder();
  void bindGivenConstants();
  /// Finds the batch, which is the leading dimension of the first data input.
  void findBatch(llvm::ArrayRef<Input>);
  /// The extent of a dimension; otherwise nullopt, and a problem is reported.
  std::optional<int64_t> extentOf(const Input &, size_t dim, bool isData);
  void bindInput(const Input &);
  std::optional<int64_t> exportedBatch, batch;
  std::optional<int64_t> chosenBatch; // by the user, or by ImportOptions::openBatch
  std::string batchName;              // the name of the exported batch where that is open
  Roles roles;
  bool anyTrained = false, anyFrozen = false; // among the values that could be parameters
  llvm::Regex stopGradient;                   // of the user's pattern
  bool anyStopped = false;                    // whether it has matched a value
  int64_t barriers = 0;                       // the number of buffers that the network updates
  int64_t nodeIndex = 0;
  bool inFunction = false; // the current node is from a function's body
  std::unordered_map<std::string, const onnx::TypeProto::Tensor *> statedTypes;
  bool outputsAreWhole = true; // no output is poison
  friend class Node;
};

/// The constant evaluator (Fold.cpp); returns true when it has set the node's outputs.
bool fold(Node &);

} // namespace mpc::onnx_import
#endif
