//===- LaunchCosts.cpp - what the launches of a dispatch move and multiply -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/LaunchCosts.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// Returns how many elements of a tensor an op reads to compute all of its results.
static int64_t elementsFor(Operation *op, Value tensor) {
  auto contraction = dyn_cast<ContractionOpInterface>(op);
  if (!contraction)
    return countOf(tensor);
  MatrixProduct product = contraction.getProduct();
  int64_t elements = 0; // one tensor may be both operands
  if (tensor == product.a)
    elements = product.elementsAt(product.atA);
  if (tensor == product.b)
    elements = std::max(elements, product.elementsAt(product.atB));
  return elements;
}

/// Returns how many elements of an operand an op reads to compute `wanted` elements of a result.
static int64_t elementsFor(OpOperand &operand, OpResult result, int64_t wanted) {
  auto indexed = cast<IndexingOpInterface>(operand.getOwner());
  int64_t elements = elementsFor(operand.getOwner(), operand.get()), all = countOf(result);
  if (wanted == 0 || !indexed.dependsOn(operand, result))
    return 0;
  LoopKind kind = indexed.getLoopKind();
  if (moves(kind) || kind == LoopKind::Elementwise) // an element of the result needs one of each operand
    return std::min(elements, wanted);
  if (wanted >= all)
    return elements;
  // The share of the operand, rounded up. Two counts of elements fit into 63 bits each, their product into 128.
  auto wide = [](int64_t count) { return llvm::APInt(128, uint64_t(count)); };
  return int64_t(
      llvm::APIntOps::RoundingUDiv(wide(elements) * wide(wanted), wide(all), llvm::APInt::Rounding::UP).getZExtValue());
}

SmallVector<int64_t> kernel::elementsRead(DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  llvm::DenseMap<Value, int64_t> wanted;
  auto want = [&](Value v, int64_t elements) {
    int64_t &now = wanted[v];
    now = std::min(countOf(v), now + elements);
  };
  for (Value v : dispatch.yielded())
    want(v, countOf(v));
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (auto member = dyn_cast<DispatchOp>(op)) {
      for (auto [input, elements] : llvm::zip_equal(member.getInputs(), elementsRead(member)))
        want(input, elements);
      continue;
    }
    for (OpResult result : op.getResults())
      for (OpOperand &operand : op.getOpOperands())
        want(operand.get(), elementsFor(operand, result, wanted.lookup(result)));
  }
  return llvm::map_to_vector(body.getArguments(), [&](Value argument) { return wanted.lookup(argument); });
}

int64_t kernel::bytesOfElements(Value v, int64_t elements) {
  return elements == 0 ? 0 : graph::bytesOf(v.getType()) / countOf(v) * elements;
}

LaunchCost kernel::costOfProduct(ContractionOpInterface contraction) {
  LaunchCost cost{.kind = contraction->getName().stripDialect().str(),
                  .writtenBytes = graph::bytesOf(contraction->getResult(0).getType()),
                  .flops = MatrixProduct::flopsOf(contraction.getProduct().digits)};
  for (Value tensor : llvm::SmallSetVector<Value, 2>(llvm::from_range, contraction->getOperands()))
    cost.readBytes += bytesOfElements(tensor, elementsFor(contraction, tensor));
  return cost;
}

/// Returns the cost of a library's call, which computes a contraction and adds a bias.
static LaunchCost costOfCall(const HostCall &call) {
  LaunchCost cost = costOfProduct(call.contraction);
  if (call.bias)
    cost.readBytes += graph::bytesOf(call.addend.getType());
  return cost;
}

namespace {
/// Adds up what the arguments of a dispatch's launches move.
class ArgumentBytes {
public:
  explicit ArgumentBytes(DispatchOp dispatch)
      : dispatch(dispatch), elements(elementsRead(dispatch)), inputs(int64_t(dispatch.getInputs().size())) {}

  /// `fromCall`: the result that a library's call has written before, which loops read; -1 without one.
  void add(LaunchAttr launch, int64_t fromCall, LaunchCost &cost) {
    SmallVector<int64_t> args(launch.getArgs());
    if (args.empty()) // a kernel of the host that takes all inputs and results, in their order
      args = llvm::to_vector(llvm::seq<int64_t>(0, inputs + int64_t(dispatch.getNumResults())));
    for (int64_t arg : args) {
      if (arg == LaunchAttr::scratch) // the launches behind the first one read what it has left there
        (scratchIsWritten ? cost.readBytes : cost.writtenBytes) += int64_t(*dispatch.getScratchBytes());
      else if (arg >= inputs)
        (arg - inputs == fromCall ? cost.readBytes : cost.writtenBytes) +=
            graph::bytesOf(dispatch.getResultTypes()[unsigned(arg - inputs)]);
      else
        cost.readBytes += bytesOfElements(dispatch.getInputs()[unsigned(arg)], elements[arg]);
    }
    scratchIsWritten |= llvm::is_contained(args, LaunchAttr::scratch);
  }

private:
  DispatchOp dispatch;
  SmallVector<int64_t> elements; ///< that the body reads of each input
  int64_t inputs;
  bool scratchIsWritten = false;
};
} // namespace

/// Returns whether a launch of an attention's gradient computes dq. That kernel comes before the one of dk and dv, and
/// either may be missing.
static bool isOfDq(LaunchAttr launch) { return launch.getKernel().getLeafReference().getValue().ends_with("_dq"); }

/// Returns the bytes that a launch of an attention writes: both launches of a gradient may write to one tensor.
static int64_t bytesOfAttention(DispatchOp dispatch, LaunchAttr launch) {
  Operation *op = attentionOf(dispatch);
  int64_t bytes = 0;
  for (OpResult result : op->getResults())
    if ((isa<graph::AttentionOp>(op) || isOfDq(launch) == (result.getResultNumber() == 0)) &&
        accessOfResult(dispatch, result))
      bytes += graph::bytesOf(result.getType());
  return bytes;
}

SmallVector<LaunchCost> kernel::launchCostsOf(DispatchOp dispatch) {
  SmallVector<LaunchCost> costs;
  std::string kind = stringifyForm(dispatch.getForm()).str();
  int64_t fromCall = -1;
  bool isProduct = dispatch.isContraction() && kernel::gpuOf(dispatch); // then the first kernel multiplies
  if (dispatch.isContraction() && !isProduct) {
    FailureOr<HostCall> call = HostCall::of(dispatch);
    assert(succeeded(call) && "kernels are emitted only of contractions that a library computes");
    costs.push_back(costOfCall(*call));
    fromCall = call->result;
  }
  if (!dispatch.getLaunches())
    return costs;
  ArgumentBytes bytes(dispatch);
  for (auto launch : dispatch.getLaunches()->getAsRange<LaunchAttr>()) {
    bool multiplies = isProduct && costs.empty();
    LaunchCost cost{.kind = isProduct ? "sums" : fromCall >= 0 ? "behind a call" : kind};
    if (multiplies) {
      cost = costOfProduct(dispatch.getContraction());
      cost.readBytes = cost.writtenBytes = 0; // the launch's arguments say what it moves
    }
    if (dispatch.isAttention()) {
      AttentionCost products = costOfAttention(attentionOf(dispatch));
      cost.flops = isOfDq(launch) ? products.dqFlops : products.flops - products.dqFlops;
    }
    bytes.add(launch, fromCall, cost);
    if (dispatch.isAttention())
      cost.writtenBytes = bytesOfAttention(dispatch, launch);
    costs.push_back(std::move(cost));
  }
  return costs;
}
