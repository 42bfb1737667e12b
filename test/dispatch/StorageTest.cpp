//===- StorageTest.cpp - what lives from the forward to the backward pass is stored in 16 bits --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The test reads the memory plan of whole networks: which buffers the forward pass (the launches that the loss needs)
// leaves to other launches, of which type they are, and at which offsets. NetworkTest would catch a kernel that writes
// more than a buffer's bytes, since its buffers end in guards.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "Network.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Memory/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

struct Buffer {
  int64_t offset, first, last;
  Type type;
  int64_t bytes() const { return bytesOf(type); }
  bool low() const { return isLowPrecision(cast<RankedTensorType>(type).getElementType()); }
};

/// The temporaries of @main with the positions of the launches that write and last read them. Arguments are written
/// before all launches.
class Plan {
public:
  explicit Plan(ModuleOp module) : step(module.lookupSymbol<train::StepOp>("main")) {
    Block &block = step.getBody().front();
    for (BlockArgument argument : block.getArguments())
      add(argument, step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kernel::kOffsetAttr).getInt(), -1);
    for (auto dispatch : block.getOps<kernel::DispatchOp>()) {
      ArrayRef<int64_t> args = dispatch->getAttrOfType<DenseI64ArrayAttr>("args").asArrayRef();
      for (Value v : dispatch.getInputs())
        use(v, launches);
      for (auto [r, v] : llvm::enumerate(dispatch.getResults()))
        add(v, args[dispatch.getInputs().size() + r], launches);
      ++launches;
    }
    for (Value v : block.getTerminator()->getOperands())
      use(v, launches);
    // Values that are assigned are computed in the memory of their variables, so they are no temporaries.
    for (auto assign : block.getOps<train::AssignOp>())
      buffers.erase(storageOf(assign.getValue()));
  }

  SmallVector<std::pair<Value, Buffer>> saved() {
    SmallVector<std::pair<Value, Buffer>> result;
    for (auto &[v, buffer] : buffers)
      if ((isa<BlockArgument>(v) || isForward(v)) && anyReader(v, [&](OpResult reader) { return !isForward(reader); }))
        result.push_back({v, buffer});
    return result;
  }

  /// Returns whether the loss needs a value, or its launch has a result that the loss needs, and the value is computed
  /// from such values alone.
  bool isForward(Value v) {
    if (isNeeded(v))
      return true;
    auto dispatch = v.getDefiningOp<kernel::DispatchOp>();
    return llvm::any_of(dispatch.getResults(), [&](Value other) { return isNeeded(other); }) &&
           llvm::all_of(dispatch.getInputs(), [&](Value input) {
             Value storage = storageOf(input);
             return !reads(cast<OpResult>(v), input) || !storage.getDefiningOp<kernel::DispatchOp>() ||
                    isNeeded(storage);
           });
  }

  train::StepOp step;
  llvm::MapVector<Value, Buffer> buffers;
  int64_t launches = 0;

private:
  void add(Value v, int64_t offset, int64_t position) { buffers[v] = {offset, position, position, v.getType()}; }
  /// Returns whether the loss is computed from a value.
  bool isNeeded(Value v) {
    if (auto it = needed.find(v); it != needed.end())
      return it->second;
    Value loss = storageOf(step.getBody().front().getTerminator()->getOperand(0));
    bool result = v == loss || anyReader(v, [&](OpResult reader) { return isNeeded(reader); });
    return needed[v] = result;
  }
  /// Returns whether the body of a launch reads an input for a result.
  static bool reads(OpResult result, Value input) {
    auto dispatch = cast<kernel::DispatchOp>(result.getOwner());
    llvm::SetVector<Value> values;
    values.insert(dispatch.getBody().front().getTerminator()->getOperand(result.getResultNumber()));
    for (size_t i = 0; i < values.size(); ++i)
      if (Operation *op = values[i].getDefiningOp())
        values.insert_range(op->getOperands());
    return llvm::any_of(dispatch.getBody().getArguments(), [&](BlockArgument argument) {
      return dispatch.getInputs()[argument.getArgNumber()] == input && values.contains(argument);
    });
  }
  /// Returns whether `fn` holds for a result of a launch that is computed from a value, or from a view of it.
  static bool anyReader(Value v, llvm::function_ref<bool(OpResult)> fn) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) {
      if (isa<ReshapeOp>(user))
        return anyReader(user->getResult(0), fn);
      return isa<kernel::DispatchOp>(user) &&
             llvm::any_of(user->getOpResults(), [&](OpResult result) { return reads(result, v) && fn(result); });
    });
  }

  llvm::DenseMap<Value, bool> needed;
  void use(Value v, int64_t position) {
    if (auto it = buffers.find(storageOf(v)); it != buffers.end())
      it->second.last = position;
  }
};

/// Returns whether the plan lets the launch that computes `result` write it into the buffer of `input`.
bool sharesBuffer(Value result, Value input) {
  auto dispatch = result.getDefiningOp<kernel::DispatchOp>();
  auto places = dispatch ? dispatch->getAttrOfType<DenseI64ArrayAttr>("in_place") : DenseI64ArrayAttr();
  if (!places)
    return false;
  int64_t place = places[cast<OpResult>(result).getResultNumber()];
  return place >= 0 && storageOf(dispatch.getInputs()[place]) == input;
}

class Storage : public testing::TestWithParam<NetworkCase> {
protected:
  void SetUp() override {
    if (!available(GetParam()))
      GTEST_SKIP() << "the reference networks are not here";
    context = makeNetworkContext();
    module = planNetwork(context.get(), GetParam());
    ASSERT_TRUE(module);
  }
  bool isLow(Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    return GetParam().precision == "fp16" ? element.isF16() : element.isBF16();
  }
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(Storage, SavedActivationsHave16Bits) {
  Plan plan(*module);
  auto saved = plan.saved();
  ASSERT_GE(saved.size(), 2u);

  // No two buffers that are live together overlap, and each has exactly the bytes of its type.
  int64_t lowBytes = 0, wideBytes = 0, total = 0;
  for (auto &[v, a] : saved) {
    for (auto &[w, b] : plan.buffers) {
      if (v != w && a.first <= b.last && b.first <= a.last && !sharesBuffer(w, v) && !sharesBuffer(v, w)) {
        EXPECT_TRUE(a.offset + a.bytes() <= b.offset || b.offset + b.bytes() <= a.offset)
            << llvm::formatv("{0} and {1}", v.getLoc(), w.getLoc()).str();
      }
    }
    if (a.low()) {
      EXPECT_EQ(a.bytes(), 2 * cast<RankedTensorType>(a.type).getNumElements());
    }
  }
  // At O0 nothing is low. At other levels everything that grows with the activations is low, except the statistics of
  // batch norms (one value per channel), the loss's scalars, and its probabilities ([N, classes], fp32 by the rules of
  // autocast). Integers are labels and the argmax of pooling.
  int64_t batch = cast<RankedTensorType>(plan.step.getArgumentTypes()[0]).getShape()[0];
  for (auto &[v, buffer] : saved) {
    auto type = cast<RankedTensorType>(buffer.type);
    total += buffer.bytes();
    if (!isa<FloatType>(type.getElementType()))
      continue;
    (buffer.low() ? lowBytes : wideBytes) += buffer.bytes();
    if (GetParam().level == "O0") {
      EXPECT_FALSE(buffer.low());
      continue;
    }
    bool perChannel =
        type.getNumElements() <= 1024 && llvm::count_if(type.getShape(), [](int64_t n) { return n > 1; }) <= 1;
    bool ofLoss = type.getRank() == 2 && type.getShape()[0] == batch && type.getShape()[1] <= 10;
    if (!isLow(type)) {
      EXPECT_TRUE(perChannel || ofLoss) << "saved in " << llvm::formatv("{0}", type).str();
    }
  }
  int64_t planned = kernel::PlanAttr::of(*module).getSavedBytes();
  EXPECT_EQ(planned, total);
  llvm::outs() << llvm::formatv("saved: {0} buffers, {1} bytes in 16 bits, {2} in 32, {3} of integers\n", saved.size(),
                                lowBytes, wideBytes, total - lowBytes - wideBytes);
  llvm::outs().flush();
  if (GetParam().level != "O0") {
    EXPECT_GT(lowBytes, 8 * wideBytes);
  }
}

/// Products and convolutions read and write low precision, in the backward pass as well. That includes weight
/// gradients, which are cast to fp32 afterwards.
TEST_P(Storage, LibraryCallsReadAndWrite16Bits) {
  Plan plan(*module);
  int calls = 0;
  for (auto dispatch : plan.step.getBody().front().getOps<kernel::DispatchOp>()) {
    if (!dispatch.isContraction())
      continue;
    ++calls;
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(dispatch.getOperandTypes()),
                                              SmallVector<Type>(dispatch.getResultTypes())))
      EXPECT_EQ(isLow(type), GetParam().level != "O0") << dispatch.getName().str();
  }
  EXPECT_GE(calls, 3);
}

/// Low-precision copies of parameters are kept from step to step beside their fp32 masters. They take two
/// bytes per element.
TEST_P(Storage, CopiesHave16BitsAndMasters32) {
  SmallVector<train::VariableOp> variables(module->getOps<train::VariableOp>());
  int copies = 0;
  for (auto [i, variable] : llvm::enumerate(variables)) {
    int64_t elements = variable.getTensorType().getNumElements();
    int64_t offset = variable->getAttrOfType<IntegerAttr>(kernel::kOffsetAttr).getInt();
    if (variable.getRole() == train::Role::parameter) {
      EXPECT_TRUE(variable.getTensorType().getElementType().isF32()) << variable.getSymName().str();
    }
    if (variable.getRole() != train::Role::copy)
      continue;
    ++copies;
    EXPECT_TRUE(isLow(variable.getTensorType())) << variable.getSymName().str();
    // Variables are stored one after the other.
    if (i + 1 < variables.size()) {
      EXPECT_EQ(variables[i + 1]->getAttrOfType<IntegerAttr>(kernel::kOffsetAttr).getInt(),
                offset + int64_t(llvm::alignTo(2 * elements, graph::kTensorAlignment)));
    }
    // The step also refreshes the copy from the master that it has just written.
    bool assigned = false;
    for (auto assign : module->lookupSymbol<train::StepOp>("main").getBody().front().getOps<train::AssignOp>())
      assigned |= assign.getVariableAttr().getAttr() == variable.getSymNameAttr();
    EXPECT_TRUE(assigned) << variable.getSymName().str();
  }
  EXPECT_EQ(copies > 0, GetParam().level != "O0");
}

INSTANTIATE_TEST_SUITE_P(All, Storage, testing::ValuesIn(networkCases()),
                         [](const auto &info) { return info.param.label(); });

} // namespace
