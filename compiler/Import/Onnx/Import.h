//===- Import.h - the state of one import --------------------------------------===//
#ifndef MPC_IMPORT_ONNX_IMPORT_H
#define MPC_IMPORT_ONNX_IMPORT_H
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Roles.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include <unordered_map>

namespace mpc::onnx_import {

class Import {
public:
  Import(mlir::MLIRContext *, const ImportOptions &, ImportReport &);

  /// Builds the module; null when the report has problems afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> run(Model &);

  mlir::MLIRContext *context;
  const ImportOptions &options;
  ImportReport &report;
  mlir::OpBuilder builder;

  /// A graph input as it is declared.
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
  /// Returns whether norms and dropouts in inference form train.
  bool turnsOn() const { return modeOfInference == TrainingMode::Train; }
  /// Returns whether a norm trains because torch says so.
  bool believesTorch() const { return !options.forwardOnly && options.mode != TrainingMode::AsExported; }
  /// Tells that a norm or a dropout stays in inference form though nobody asked for it.
  void noteKept(const std::string &op, mlir::Location node);
  bool updatesState() const { return !options.forwardOnly; }
  /// The batch that the data inputs had and now have, when --batch changed it.
  std::optional<std::pair<int64_t, int64_t>> rebound;
  /// The value of a variable for the next step.
  void assign(const std::string &variable, mlir::Value value, mlir::Location);
  /// The variable for the running statistics at an input of a node: the one that the input reads, or, when
  /// another node assigns that (but for files that tell what the module shares) or the input is a constant, one for this input alone. Empty when the input is
  /// computed.
  std::string ownStatistics(Node &node, size_t input);
  /// The read of a variable.
  mlir::Value read(const std::string &variable);
  /// The value that a variable has after the assignments so far, or its read: each of several updates continues from it.
  mlir::Value latest(const std::string &variable);
  /// The seed and step operands of random ops.
  mlir::Value rngSeed();
  mlir::Value rngStep();
  /// The stream of random numbers that a node draws: `draws` names the value that it makes.
  int64_t &streamOf(const std::string &draws) { return streams[draws]; }
  /// The labels that a loss compares with `classes` scores: marks the argument they come from.
  void markLabels(mlir::Value labels, int64_t classes, std::optional<int64_t> ignoreIndex);
  /// Indices into a dimension of `extent` elements, negative ones from its end: marks the argument they come
  /// from. A note where they come from data and cannot be bounded; `node` uses them.
  void markIndices(mlir::Value indices, int64_t extent, mlir::Location node);
  /// The same for [..., k] indices into k dimensions.
  void markIndices(mlir::Value indices, llvm::ArrayRef<int64_t> extents, mlir::Location node);
  /// Imports a subgraph's nodes in place, in a scope of their own; returns its outputs. Throws ImportError
  /// for a cycle, for names of the graph around it, and for outputs that nothing makes.
  std::vector<Entry> inlineGraph(onnx::GraphProto &, int64_t opset, mlir::Location);
  /// Something that the importer changed, told once per text.
  void note(const std::string &text, const std::string &node);
  void note(const std::string &text, mlir::Location node) {
    note(text, mlir::cast<mlir::NameLoc>(node).getName().str());
  }
  mlir::Value materialize(Entry &);
  /// The graph inputs that a value is computed from would have to be known.
  void needConstants(mlir::Value);
  Model &model() { return *current; }
  bool isUsed(const std::string &value) const { return useCount.count(value) != 0; }
  std::string takeDiagnostics();
  /// What the node at hand has reported and gone on (Node::unsupported).
  std::vector<ImportProblem> unsupported;

private:
  struct Part;
  /// Lets `bound` declare what the data may hold that a value, or a part of it, comes from. False when other
  /// ops than slices and views lie between.
  bool boundData(mlir::Value, Part, llvm::function_ref<void(mlir::NamedAttrList &)> bound);
  using Scope = std::unordered_map<std::string, Entry>;
  Model *current = nullptr;
  TrainingMode modeOfInference = TrainingMode::AsExported; // what Auto is for this file
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  Scope values;
  std::unordered_map<std::string, int64_t> useCount;
  std::unordered_map<std::string, mlir::Value> reads;
  std::set<std::string> symbols;
  std::map<std::string, train::AssignOp> assigned; // by variable
  std::unordered_map<std::string, int64_t> streams; // of random nodes, by what they make
  std::map<std::string, std::pair<size_t, std::string>> noted; // text -> how often, first node
  std::vector<std::string> noteOrder;
  std::string diagnostics; // emitted by MLIR since the last takeDiagnostics

  void problem(ImportProblem);
  void bindInitializers();
  void noteSuspicious(const std::string &name, const HostTensor &, size_t uses);
  void bindInputs();
  /// Every pattern of the user's names something, and leaves something to train.
  void checkPatterns();
  void convertNodes(std::vector<FlatNode> &);
  void convert(onnx::NodeProto &, int64_t opset, const std::string &location, int64_t index);
  void bindOutputs();
  // StandIn.cpp
  void collectStatedTypes();
  /// The type that the file states for a value, with every dimension bound; null when it does not or the type
  /// is no float's.
  mlir::RankedTensorType statedType(const std::string &name);
  /// Gives the results of a node that failed a value of their stated types, or poison.
  void standIn(const onnx::NodeProto &, mlir::Location);
  void define(const std::string &name, Entry entry);
  /// `name`, or another if a symbol has it.
  std::string symbolFor(const std::string &name);
  /// The variable of an initializer or a graph input; returns its symbol.
  std::string addVariable(const std::string &name, train::Role, mlir::RankedTensorType, mlir::Attribute init);
  /// A buffer that serves one input of one node; `value` names what the model has there.
  std::string addBuffer(const std::string &name, const std::string &value, Node &, size_t input,
                        mlir::Attribute init);
  mlir::OpBuilder variableBuilder();
  void bindGivenConstants();
  /// The batch is the leading dimension of the first data input.
  void findBatch(llvm::ArrayRef<Input>);
  /// The number of a dimension, or a problem.
  std::optional<int64_t> extentOf(const Input &, size_t dim, bool isData);
  void bindInput(const Input &);
  std::optional<int64_t> exportedBatch, batch;
  std::optional<int64_t> chosenBatch; // by the user, or ImportOptions::openBatch
  std::string batchName; // where the exported one is open
  Roles roles;
  bool anyTrained = false, anyFrozen = false; // of what could be a parameter
  int64_t nodeIndex = 0;
  bool inFunction = false; // the node at hand is from a function's body
  std::unordered_map<std::string, const onnx::TypeProto::Tensor *> statedTypes;
  bool outputsAreWhole = true; // none of them is poison
  friend class Node;
};

/// The constant evaluator (Fold.cpp): true when it set the node's outputs.
bool fold(Node &);

} // namespace mpc::onnx_import
#endif
