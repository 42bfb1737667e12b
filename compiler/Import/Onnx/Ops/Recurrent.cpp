//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each direction becomes a product for the inputs of all time steps and a graph.scan, in whose body only the recurrent
// product and the cell are. docs/rationale/graph.md says why there are no ops of their own.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Ops/RecurrentCells.h"
#include "compiler/Import/Onnx/Samples.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {

/// One node. T is the number of time steps, B the batch, I the input's size, H the hidden size, D the number of
/// directions, G the number of gates.
class Recurrent {
public:
  Recurrent(Node &n, int64_t gates, ArrayRef<StringRef> defaults);
  void run();

private:
  struct Results {
    Value all, h, c; // [T, B, H], [B, H], [B, H]
  };
  bool isLstm() const { return gates == 4; }
  void readSizes();
  void readLengths();
  void expect(size_t input, StringRef name, ArrayRef<int64_t> shape);
  Value rowOf(size_t input, int64_t direction, size_t batchAxis = 0);
  Value initial(size_t input, int64_t direction, Type);
  Results direct(int64_t direction);
  void setOutputs(ArrayRef<Results>);

  Node &n;
  const int64_t gates;
  int64_t T = 0, B = 0, I = 0, H = 0, D = 1;
  bool batchFirst = false, reverseOnly = false;
  RecurrentCell cell; // without the values of a direction
  SmallVector<RecurrentActivation> activations;
  Value x;       // [T * B, I]
  Value isValid; // i1 [T, B, 1]: whether the time step is within the sample's length; null where all are
};

} // namespace

Recurrent::Recurrent(Node &n, int64_t gates, ArrayRef<StringRef> defaults) : n(n), gates(gates) {
  cell.op = n.proto.op_type();
  std::string direction = n.stringAttribute("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    n.fail("direction '" + printable(direction) + "' is not known", "forward, reverse or bidirectional", "direction");
  D = direction == "bidirectional" ? 2 : 1;
  reverseOnly = direction == "reverse";
  batchFirst = n.intAttribute("layout", 0) != 0;
  if (n.hasAttribute("clip")) {
    cell.clip = n.floatAttribute("clip");
    if (!(*cell.clip >= 0))
      n.fail("clip is " + Twine(std::to_string(*cell.clip)), "give a number that is not negative", "clip");
  }
  cell.coupled = isLstm() && n.intAttribute("input_forget", 0) != 0;
  cell.linearBeforeReset = gates == 3 && n.intAttribute("linear_before_reset", 0) != 0;
  n.ignore({"output_sequence"}); // of opset 1: says whether Y is used
  activations = recurrentActivations(n, defaults, D);
  readSizes();
  readLengths();
  noteTimeAlongSamples(n, n.in(0), batchFirst ? 1 : 0);
}

void Recurrent::expect(size_t input, StringRef name, ArrayRef<int64_t> shape) {
  auto text = [](ArrayRef<int64_t> dims) {
    std::string result;
    llvm::raw_string_ostream stream(result);
    llvm::interleave(dims, stream, "x");
    return result;
  };
  if (n.has(input) && n.shape(input) != shape)
    n.fail(name + " is " + text(n.shape(input)) + ", not " + text(shape),
           isLstm() && input == 6
               ? "PyTorch's exporter writes such a file for nn.LSTM(proj_size=...), whose projection "
                 "it loses; tools/torch/export.py keeps it"
               : "",
           name);
}

void Recurrent::readSizes() {
  if (!n.has(0) || !n.has(1) || !n.has(2))
    n.fail("it needs the inputs X, W and R");
  n.floatIn(0);
  if (n.rank(0) != 3)
    n.fail("X has rank " + Twine(n.rank(0)) + ", not 3", "", "X");
  if (n.rank(2) != 3)
    n.fail("R has rank " + Twine(n.rank(2)) + ", not 3", "", "R");
  T = n.shape(0)[batchFirst ? 1 : 0];
  B = n.shape(0)[batchFirst ? 0 : 1];
  I = n.shape(0)[2];
  H = n.intAttribute("hidden_size", n.shape(2)[2]);
  const SmallVector<int64_t> state = batchFirst ? SmallVector<int64_t>{B, D, H} : SmallVector<int64_t>{D, B, H};
  expect(1, "W", {D, gates * H, I});
  expect(2, "R", {D, gates * H, H});
  expect(3, "B", {D, 2 * gates * H});
  expect(4, "sequence_lens", {B});
  expect(5, "initial_h", state);
  if (isLstm()) {
    expect(6, "initial_c", state);
    expect(7, "P", {D, 3 * H});
  }
  for (size_t i : {1, 2, 3, 5, 6, 7})
    if (n.has(i) && n.element(i) != n.element(0))
      n.fail("input " + Twine(i) + " has another element type than X");
}

void Recurrent::readLengths() {
  if (!n.has(4))
    return;
  if (n.entry(4).constant) {
    Shape lengths = n.constantInts(4, "sequence_lens");
    for (auto [i, length] : llvm::enumerate(lengths))
      if (length < 0 || length > T)
        n.fail("the length of sample " + Twine(i) + " is " + Twine(length) + ", but there are " + Twine(T) +
                   " time steps",
               "give lengths from 0 to " + Twine(T), "sequence_lens");
    if (llvm::all_of(lengths, [&](int64_t length) { return length == T; }))
      return;
  }
  Value lengths = n.in(4);
  if (isFloat(lengths))
    n.fail("the lengths are floats", "give integers", "sequence_lens");
  if (!n.entry(4).constant)
    n.import.markLengths(lengths, T, n.loc);
  lengths = n.reshape(n.cast(lengths, n.b.getI64Type()), {1, B, 1});
  Value t = n.iota(n.tensorType({T, 1, 1}, n.b.getI64Type()), 0);
  isValid = n.compare(Predicate::lt, t, lengths);
}

/// The part of an input for a direction, which is dropped from its dimensions.
Value Recurrent::rowOf(size_t input, int64_t direction, size_t directionAxis) {
  Value v = part(n, n.in(input), int64_t(directionAxis), direction, 1);
  Shape shape(shapeOf(v));
  shape.erase(shape.begin() + directionAxis);
  return n.reshape(v, shape);
}

/// The first state [B, H]: the input, or zeros.
Value Recurrent::initial(size_t input, int64_t direction, Type element) {
  if (n.has(input))
    return n.cast(rowOf(input, direction, batchFirst ? 1 : 0), element);
  return splat(n.b, n.loc, n.tensorType({B, H}, element), 0);
}

Recurrent::Results Recurrent::direct(int64_t direction) {
  RecurrentCell own = cell;
  const size_t each = activations.size() / size_t(D);
  own.activations = ArrayRef(activations).slice(each * size_t(direction), each);
  Type element = n.element(0);

  // The biases that are only added join the product for the inputs, which is one for all time steps.
  Value inputs = timesTransposed(n, x, rowOf(1, direction));
  Value recurrentBias;
  if (n.has(3)) {
    Value both = rowOf(3, direction), bias = part(n, both, 0, 0, gates * H),
          second = part(n, both, 0, gates * H, gates * H);
    if (own.linearBeforeReset) {
      recurrentBias = second; // the reset gate scales a part of it
    } else {
      bias = n.add(bias, second);
    }
    inputs = n.add(inputs, bias);
  }
  SmallVector<Value> stacked = {n.reshape(inputs, {T, B, gates * H})};
  if (isValid)
    stacked.push_back(isValid);
  SmallVector<Value> invariants = {rowOf(2, direction)};
  if (recurrentBias)
    invariants.push_back(recurrentBias);
  const bool peeps = isLstm() && n.has(7);
  if (peeps)
    for (int64_t gate = 0; gate < 3; ++gate)
      invariants.push_back(part(n, rowOf(7, direction), 0, gate * H, H));
  SmallVector<Value> inits = {initial(5, direction, element)};
  if (isLstm()) // as cuDNN does, the cell state is kept in fp32
    inits.push_back(initial(6, direction, computeType(element)));

  const bool backward = reverseOnly || direction == 1;
  auto scan =
      ScanOp::create(n.b, n.loc, T, backward, inits, invariants, stacked, TypeRange{n.tensorType({T, B, H}, element)});
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&scan.getBlock());
  try {
    auto arguments = scan.invariantArguments();
    own.recurrent = arguments[0];
    own.recurrentBias = recurrentBias ? arguments[1] : Value();
    if (peeps) {
      own.inputPeep = arguments[1];
      own.outputPeep = arguments[2];
      own.forgetPeep = arguments[3];
    }
    RecurrentCell::State before{scan.carried()[0], isLstm() ? Value(scan.carried()[1]) : Value()};
    RecurrentCell::State after = own.step(n, scan.slices()[0], before);
    Value y = after.h;
    if (isValid) { // behind its end a sample keeps its state, and its output is zero
      Value valid = scan.slices()[1];
      after.h = n.select(valid, after.h, before.h);
      if (isLstm())
        after.c = n.select(valid, after.c, before.c);
      y = n.select(valid, y, n.number(0, y));
    }
    SmallVector<Value> yielded = {after.h};
    if (isLstm())
      yielded.push_back(after.c);
    yielded.push_back(y);
    ScanYieldOp::create(n.b, n.loc, yielded);
  } catch (...) {
    scan.erase(); // without its end it may not stay in the module
    throw;
  }
  return {scan.getStacks()[0], scan.getFinals()[0], isLstm() ? scan.getFinals()[1] : Value()};
}

void Recurrent::setOutputs(ArrayRef<Results> results) {
  // Puts the directions together along a new dimension `axis`.
  auto join = [&](auto &&valueOf, int64_t axis) {
    SmallVector<Value> values;
    for (const Results &each : results) {
      Value v = valueOf(each);
      Shape shape(shapeOf(v));
      shape.insert(shape.begin() + axis, 1);
      values.push_back(n.reshape(v, shape));
    }
    return n.concat(values, axis);
  };
  if (n.named(0)) {
    Value y = join([](const Results &each) { return each.all; }, 1); // [T, D, B, H]
    n.out(0, batchFirst ? n.transpose(y, {2, 0, 1, 3}) : y);
  }
  const int64_t axis = batchFirst ? 1 : 0;
  if (n.named(1))
    n.out(1, join([](const Results &each) { return each.h; }, axis));
  if (isLstm() && n.named(2))
    n.out(2, n.cast(join([](const Results &each) { return each.c; }, axis), n.element(0)));
}

void Recurrent::run() {
  Value input = n.in(0);
  x = n.reshape(batchFirst ? n.transpose(input, {1, 0, 2}) : input, {T * B, I});
  SmallVector<Results> results;
  for (int64_t d = 0; d < D; ++d)
    results.push_back(direct(d));
  setOutputs(results);
}

static void rnn(Node &n) { Recurrent(n, 1, {"Tanh"}).run(); }
static void gru(Node &n) { Recurrent(n, 3, {"Sigmoid", "Tanh"}).run(); }
static void lstm(Node &n) { Recurrent(n, 4, {"Sigmoid", "Tanh", "Tanh"}).run(); }

OpFamily onnx_import::recurrentOps() {
  static constexpr StringLiteral limits =
      "constant number of time steps; clip bounds what enters the gates' activations, as in ONNX Runtime";
  static const OpRow rows[] = {
      {"RNN", 1, kMaxOpset, 6, 2, "@wwbd+", limits, rnn},
      {"GRU", 1, kMaxOpset, 6, 2, "@wwbd+", limits, gru},
      {"LSTM", 1, kMaxOpset, 8, 3, "@wwbd++s", limits, lstm},
  };
  return {"Recurrent", rows};
}
