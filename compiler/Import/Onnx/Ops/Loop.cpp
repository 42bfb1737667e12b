//===- Loop.cpp - ONNX Loop ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Loop whose number of iterations is known at import becomes a graph.scan. Where its shapes need the number of the
// iteration, or it carries sequences or repeats other loops, its iterations are written out instead.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Ops/Control.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// The most nodes that iterations are written out to.
static constexpr int64_t kMaxWrittenOut = 10'000;

static const char *const kFixed =
    "repeat a fixed number of times, and keep the values of finished iterations with Where";

namespace {
class Loop {
public:
  explicit Loop(Node &n) : n(n), body(bodyOf(n, "body")) {}
  void build();

private:
  bool isSequence(size_t carried) const { return n.isSequence(2 + carried); }
  /// This says whether the iterations cannot be those of a scan.
  bool needsWritingOut() const;
  /// This says whether a result that must be known at import (a shape, or whether to go on) depends on the iteration.
  bool dependsOnNumbers() const;
  void repeatAsScan();
  void writeOut();
  /// The type that the body declares for one of its first two inputs: of rank 0, or of one element.
  RankedTensorType declared(int input, Type element) const {
    const bool list = body.input(input).type().tensor_type().shape().dim_size() == 1;
    return RankedTensorType::get(list ? Shape{1} : Shape{}, element);
  }
  Entry constantEntry(HostTensor tensor) const {
    Entry entry;
    entry.type = tensor.type;
    entry.constant = std::move(tensor);
    return entry;
  }
  /// The first output of the body: whether there is a further iteration.
  bool goesOn(Entry &entry) {
    if (entry.poison)
      throw FollowsFailure();
    if (!entry.constant || entry.constant->size() != 1)
      n.limit("its body computes from data whether to go on, so the number of iterations is not known at compile time",
              kFixed, "cond");
    return entry.constant->ints()[0] != 0;
  }

  Node &n;
  onnx::GraphProto &body;
  std::optional<int64_t> trips;
  size_t numCarried = 0;
};
} // namespace

template <typename Predicate>
static bool anyNode(const onnx::GraphProto &graph, Predicate predicate) {
  return llvm::any_of(graph.node(), [&](const onnx::NodeProto &node) {
    return predicate(node) || llvm::any_of(node.attribute(), [&](const auto &attribute) {
             return attribute.has_g() && anyNode(attribute.g(), predicate);
           });
  });
}

/// From this input on an op needs numbers that are known at import; -1 where it needs none.
static int firstKnownInput(StringRef op) {
  static const llvm::StringMap<int> table = {
      {"ConstantOfShape", 0},
      {"Expand", 1},
      {"If", 0},
      {"Loop", 0},
      {"OneHot", 1},
      {"Pad", 1},
      {"Range", 0},
      {"Reshape", 1},
      {"Resize", 1},
      {"SequenceAt", 1},
      {"SequenceErase", 1},
      {"Slice", 1},
      {"Split", 1},
      {"SequenceInsert", 2},
      {"Squeeze", 1},
      {"Tile", 1},
      {"TopK", 1},
      {"Trilu", 1},
      {"Unsqueeze", 1},
  };
  auto found = table.find(op);
  return found == table.end() ? -1 : found->second;
}

bool Loop::dependsOnNumbers() const {
  llvm::StringSet<> numbers = {body.input(0).name()};
  for (size_t i = 0; i < numCarried; ++i) // a counter that the loop carries
    if (!isSequence(i) && n.entry(2 + i).constant && !isa<FloatType>(n.element(2 + i)))
      numbers.insert(body.input(int(2 + i)).name());
  std::vector<const onnx::NodeProto *> nodes;
  for (const auto &node : body.node())
    nodes.push_back(&node);
  for (size_t at : topologicalOrder(nodes)) {
    const onnx::NodeProto &node = *nodes[at];
    std::vector<std::string> uses;
    collectUses(node, uses);
    if (llvm::none_of(uses, [&](const std::string &use) { return numbers.contains(use); }))
      continue;
    for (int i = firstKnownInput(node.op_type()); i >= 0 && i < node.input_size(); ++i)
      if (numbers.contains(node.input(i)))
        return true;
    for (const std::string &output : node.output())
      numbers.insert(output);
  }
  return numbers.contains(body.output(0).name());
}

bool Loop::needsWritingOut() const {
  for (size_t i = 0; i < numCarried; ++i)
    if (isSequence(i))
      return true;
  const bool inBody = isa_and_nonnull<ScanOp>(n.b.getInsertionBlock()->getParentOp());
  return inBody || !trips || dependsOnNumbers() || anyNode(body, [](const onnx::NodeProto &node) {
           return node.op_type() == "Loop" || node.op_type() == "Scan";
         });
}

void Loop::repeatAsScan() {
  Repetition r{*trips};
  for (size_t i = 0; i < numCarried; ++i)
    r.inits.push_back(n.in(2 + i));
  r.stacked.push_back(n.iota(n.tensorType({*trips}, n.b.getI64Type()), 0));
  ScanOp scan = repeat(
      n, body, r,
      [&](ArrayRef<BlockArgument> arguments) {
        std::vector<Entry> inputs(2);
        inputs[0].value = n.reshape(arguments.back(), declared(0, n.b.getI64Type()).getShape());
        inputs[0].type = typeOf(inputs[0].value);
        inputs[1] = constantEntry(HostTensor::fromInts(declared(1, n.b.getI1Type()), {1}));
        for (BlockArgument argument : arguments.take_front(numCarried)) {
          Entry &entry = inputs.emplace_back();
          entry.type = typeOf(argument);
          entry.value = argument;
          entry.fromData = true;
        }
        return inputs;
      },
      [&](std::vector<Entry> &results) {
        if (!goesOn(results.front()) && *trips > 1)
          n.limit("its body ends it after the first iteration, whatever the number of iterations",
                  "export the body without the loop", "cond");
        results.erase(results.begin());
      });
  for (size_t i = 0; i < n.numOutputs(); ++i)
    n.out(i, scan.getResult(unsigned(i)));
}

void Loop::writeOut() {
  std::vector<Entry> carried;
  for (size_t i = 0; i < numCarried; ++i)
    if (isSequence(i)) {
      Entry &entry = carried.emplace_back();
      entry.sequence = std::make_shared<const std::vector<Entry>>(n.sequence(2 + i));
      entry.fromData = llvm::any_of(*entry.sequence, [](const Entry &e) { return e.fromData; });
    } else {
      carried.push_back(n.entry(2 + i));
    }
  std::vector<SmallVector<Value>> stacks(size_t(body.output_size()) - 1 - numCarried);
  const int64_t most = kMaxWrittenOut / std::max(body.node_size(), 1);
  bool more = true;
  for (int64_t t = 0; more && (!trips || t < *trips); ++t) {
    if (t >= most)
      n.limit("its iterations are written out, and there are more than " + Twine(most) +
                  " of this body's; a loop whose shapes depend on the iteration, that carries a counter or a sequence, "
                  "or that is in another loop, is written out",
              kFixed, "M");
    std::vector<Entry> inputs = {
        constantEntry(HostTensor::fromInts(declared(0, n.b.getI64Type()), {t})),
        constantEntry(HostTensor::fromInts(declared(1, n.b.getI1Type()), {1})),
    };
    llvm::append_range(inputs, carried);
    onnx::GraphProto copy = body; // the import of constants takes their bytes
    std::vector<Entry> results = n.import.inlineGraph(copy, n.opset, n.loc, inputs);
    if (llvm::any_of(results, [](const Entry &entry) { return entry.poison; }))
      throw FollowsFailure();
    refuseCounted(n, results);
    more = goesOn(results.front());
    carried.assign(results.begin() + 1, results.begin() + 1 + ptrdiff_t(numCarried));
    for (auto [stack, entry] : llvm::zip(stacks, llvm::MutableArrayRef(results).drop_front(1 + numCarried))) {
      if (entry.sequence)
        n.fail("its body returns a sequence for a stacked output", "give each element out as a tensor");
      Value v = n.import.materialize(entry);
      Shape shape = {1};
      llvm::append_range(shape, shapeOf(v));
      stack.push_back(n.reshape(v, shape));
    }
  }
  for (auto [i, entry] : llvm::enumerate(carried))
    if (i < n.numOutputs())
      n.out(i, entry);
  for (auto [i, stack] : llvm::enumerate(stacks)) {
    if (!n.used(numCarried + i))
      continue;
    if (stack.empty())
      n.limit("it has no iterations, so the shape of output " + Twine(numCarried + i) + " is not known",
              "export the module without this loop");
    n.out(numCarried + i, n.concat(stack, 0));
  }
}

void Loop::build() {
  numCarried = n.numInputs() > 2 ? n.numInputs() - 2 : 0;
  if (size_t(body.input_size()) != numCarried + 2 || size_t(body.output_size()) < numCarried + 1 ||
      n.numOutputs() + 1 > size_t(body.output_size()))
    n.fail(
        "the body has " + Twine(body.input_size()) + " inputs and " + Twine(body.output_size()) +
            " outputs, the node " + Twine(n.numInputs()) + " and " + Twine(n.numOutputs()),
        "the body has the number of the iteration and the condition as further inputs, and the condition as its first "
        "output; export the model again");
  // Each iteration would draw the same numbers, written out or not.
  if (anyNode(body, [](const onnx::NodeProto &node) {
        StringRef op = node.op_type();
        return op.starts_with("Random") || op == "Dropout" || op == "Bernoulli" || op == "Multinomial";
      }))
    n.limit("its body draws random numbers, which would be the same in each iteration",
            "draw them before the loop for all iterations, and pick those of an iteration with Gather", "body");
  if (n.has(0))
    trips = std::max<int64_t>(n.constantInt(0, "the trip count"), 0);
  if (n.has(1) && n.constantNumber(1, "the condition") == 0)
    trips = 0;
  if ((!trips || *trips > INT32_MAX) && !dependsOnNumbers())
    n.limit("only its condition ends it, so the number of iterations is not known at compile time", kFixed, "M");
  needsWritingOut() ? writeOut() : repeatAsScan();
}

void onnx_import::loopOp(Node &n) { Loop(n).build(); }
