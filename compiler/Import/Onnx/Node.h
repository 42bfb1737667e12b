//===- Node.h - the interface of converters to one ONNX node ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A converter reads inputs and attributes from a Node, builds graph ops through it and sets its outputs.
// Anything that is wrong is reported by `fail`, which throws; the importer catches it, records the problem
// and goes on with the next node. No malformed graph op is ever left in the module: `make` infers types,
// checks and verifies each op, and turns errors into a failure of the node.
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_NODE_H
#define MPC_IMPORT_ONNX_NODE_H
#include "compiler/Import/Onnx/Model.h"
#include "compiler/Import/Onnx/Registry.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/Builders.h"
#include <list>
#include <memory>
#include <set>

namespace mpc::onnx_import {
class Import;

/// Says that only the first `count` indices along a dimension are there (Counted.h).
struct Counted {
  int64_t dim;
  mlir::Value count; // i64 []
};

/// A value of the model: an SSA value, a constant of the host, or both; or a sequence of values, whose number
/// the compiler knows.
struct Entry {
  mlir::RankedTensorType type;
  mlir::Value value;
  std::optional<HostTensor> constant;
  std::string variable;                               // the symbol of a variable, where this is a plain read of it
  std::shared_ptr<const std::vector<Entry>> sequence; // the elements of a sequence, which has no type
  std::optional<Counted> counted;
  std::shared_ptr<const Entry> shapeOf; // the counted value whose shape this is
  bool fromData = false;                // whether it depends on a data input
  bool poison = false;                  // its node failed; users of it report nothing
};

using graph::Shape;

class Node {
public:
  Node(Import &import, onnx::NodeProto &proto, int64_t opset, mlir::Location loc, int64_t index,
       std::vector<Entry *> inputs);

  onnx::NodeProto &proto;
  const int64_t opset;
  const mlir::Location loc;
  const int64_t index; // its position among the model's nodes
  mlir::OpBuilder &b;
  mlir::MLIRContext *context;

  [[noreturn]] void fail(const llvm::Twine &why, const llvm::Twine &hint = "", const llvm::Twine &attribute = "");

  /// Fails because of what mpc cannot do, where the node itself is right: without a hint of its own the error says
  /// that, rather than blames the model.
  [[noreturn]] void limit(const llvm::Twine &why, const llvm::Twine &hint = "", const llvm::Twine &attribute = "");

  /// Does what limit does, but goes on, so that all problems of one node are reported together; the ops that
  /// are built after it are thrown away.
  void unsupported(const llvm::Twine &why, const llvm::Twine &hint = "", const llvm::Twine &attribute = "");

  //===-- Inputs --------------------------------------------------------------===//
  size_t numInputs() const { return inputs.size(); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// The entry of an input that is a tensor.
  Entry &entry(size_t i);
  bool isSequence(size_t i) const { return has(i) && inputs[i]->sequence; }
  /// The elements of an input that is a sequence.
  const std::vector<Entry> &sequence(size_t i);
  mlir::Value in(size_t i);
  /// The input, which must be a float tensor.
  mlir::Value floatIn(size_t i);
  mlir::RankedTensorType type(size_t i) { return entry(i).type; }
  llvm::ArrayRef<int64_t> shape(size_t i) { return entry(i).type.getShape(); }
  int64_t rank(size_t i) { return entry(i).type.getRank(); }
  mlir::Type element(size_t i) { return entry(i).type.getElementType(); }
  /// The input's elements, which must be known at import; `what` names the input in the error.
  const HostTensor &constant(size_t i, llvm::StringRef what);
  Shape constantInts(size_t i, llvm::StringRef what);
  int64_t constantInt(size_t i, llvm::StringRef what); // also a float that is one
  double constantNumber(size_t i, llvm::StringRef what);

  /// Puts another value in the place of an input.
  void replaceInput(size_t i, Entry entry);
  /// Where it is set, only so many rows of the indices and updates of a scatter are there.
  mlir::Value rows;

  //===-- Attributes: a wrong type is an error, and so is one that no converter asks for ---===//
  bool hasAttribute(llvm::StringRef name);
  int64_t intAttribute(llvm::StringRef name, std::optional<int64_t> fallback = {});
  double floatAttribute(llvm::StringRef name, std::optional<double> fallback = {});
  std::string stringAttribute(llvm::StringRef name, std::optional<std::string> fallback = {});
  std::optional<Shape> intsAttribute(llvm::StringRef name);
  std::optional<std::vector<double>> floatsAttribute(llvm::StringRef name);
  /// The raw attribute, or null; `types` are the AttributeProto types that it may have.
  onnx::AttributeProto *attribute(llvm::StringRef name, llvm::ArrayRef<int> types);
  /// Accepts attributes that have no effect here.
  void ignore(llvm::ArrayRef<llvm::StringRef> names);

  /// Normalises an axis; fails if it is out of range.
  int64_t axis(int64_t axis, int64_t rank);
  /// Normalises and sorts axes; fails if one is repeated.
  Shape axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  //===-- Outputs -------------------------------------------------------------===//
  size_t numOutputs() const { return size_t(proto.output_size()); }
  /// Whether the node gives output i a name.
  bool named(size_t i) const { return i < numOutputs() && !proto.output(int(i)).empty(); }
  /// Whether anything reads output i.
  bool used(size_t i) const;
  void out(size_t i, mlir::Value);
  void out(size_t i, HostTensor);
  void out(size_t i, Entry);
  void out(size_t i, std::vector<Entry> sequence);
  /// Passes an input on under the output's name.
  void forward(size_t i, size_t input);
  /// Returns the entry of an output that has a name and has been set.
  Entry &made(size_t i);
  /// Says how many rows of an output that has been set are there.
  void count(size_t i, const Counted &);
  /// Makes values of an inlined graph the outputs.
  void adopt(llvm::ArrayRef<Entry>);

  //===-- Building ------------------------------------------------------------===//
  /// Builds a graph op. `set` fills its properties; types are inferred unless given.
  template <typename OpT>
  OpT make(mlir::ValueRange operands, llvm::function_ref<void(typename OpT::Properties &)> set = {},
           mlir::TypeRange types = {}) {
    mlir::OperationName name(OpT::getOperationName(), context);
    mlir::OperationState state(loc, name);
    state.addOperands(operands);
    auto &properties = state.getOrAddProperties<typename OpT::Properties>();
    if constexpr (!std::is_same_v<typename OpT::Properties, mlir::EmptyProperties>)
      OpT::populateDefaultProperties(name, properties);
    if (set)
      set(properties);
    llvm::SmallVector<mlir::Type> inferred(types);
    if constexpr (requires(llvm::SmallVectorImpl<mlir::Type> &results) {
                    OpT::inferReturnTypes(context, std::optional<mlir::Location>(), operands, mlir::DictionaryAttr(),
                                          mlir::OpaqueProperties(&properties), mlir::RegionRange(), results);
                  }) {
      if (inferred.empty() &&
          failed(OpT::inferReturnTypes(context, loc, operands, mlir::DictionaryAttr::get(context),
                                       mlir::OpaqueProperties(&properties), mlir::RegionRange(), inferred)))
        failWithDiagnostics();
    }
    return mlir::cast<OpT>(finish(state, inferred));
  }

  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> strides);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value iota(mlir::RankedTensorType type, int64_t axis);
  /// Returns 0, 1, ... as i64 along dimension `dim` of a tensor of this rank, with one element in the others.
  mlir::Value numbersAlong(int64_t rank, int64_t dim, int64_t extent);
  /// Joins values along a dimension; one value is returned as it is.
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(graph::Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value constantValue(const HostTensor &);
  /// A rank-0 constant of x's element type.
  mlir::Value number(double value, mlir::Type element);
  mlir::Value number(double value, mlir::Value like) { return number(value, graph::elementOf(like)); }
  mlir::Value i64(int64_t value);
  template <typename OpT>
  mlir::Value unary(mlir::Value x) {
    return make<OpT>(x).getResult();
  }
  template <typename OpT>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return make<OpT>(mlir::ValueRange{a, b}).getResult();
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<graph::AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<graph::SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<graph::MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<graph::DivOp>(a, b); }
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims = true);
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims = true);
  template <typename OpT>
  mlir::Value reduce(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims) {
    return make<OpT>(x,
                     [&](auto &p) {
                       p.axes = b.getDenseI64ArrayAttr(axes);
                       p.keepdims = b.getBoolAttr(keepdims);
                     })
        .getResult();
  }

  /// A tensor type; fails if it is too large.
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  Import &import;

private:
  friend class Import;
  std::vector<Entry *> inputs;
  std::list<Entry> replaced;
  std::set<std::string, std::less<>> asked;
  [[noreturn]] void failWithDiagnostics();
  mlir::Operation *finish(mlir::OperationState &, llvm::ArrayRef<mlir::Type> types);
  void checkAttributesAsked();
};

} // namespace mpc::onnx_import
#endif
