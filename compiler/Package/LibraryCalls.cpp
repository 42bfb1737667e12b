// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/LibraryCalls.h"
#include "compiler/Package/Elements.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static LogicalResult describeMatmul(MatMulOp op, mpc_library_desc &desc) {
  ArrayRef<int64_t> a = shapeOf(op.getA()), b = shapeOf(op.getB()), out = shapeOf(op.getResult());
  desc.op = MPC_MATMUL;
  desc.transpose_a = op.getTransposeA();
  desc.transpose_b = op.getTransposeB();
  desc.m = out[out.size() - 2];
  desc.n = out.back();
  desc.k = desc.transpose_a ? a[a.size() - 2] : a.back();
  int64_t batchA = llvm::product_of(a.drop_back(2)), batchB = llvm::product_of(b.drop_back(2));
  desc.batch = llvm::product_of(out.drop_back(2));
  if ((batchA != desc.batch && batchA != 1) || (batchB != desc.batch && batchB != 1))
    return op.emitOpError("batch dimensions broadcast in part");
  if (batchB == 1 && !desc.transpose_a && batchA == desc.batch) {
    // Where B is one matrix for all batches, the rows of all batches of A form one matrix.
    desc.m *= desc.batch;
    desc.batch = 1;
  }
  desc.broadcast_a = desc.batch > 1 && batchA == 1;
  desc.broadcast_b = desc.batch > 1 && batchB == 1;
  return success();
}

static LogicalResult describeConv(ConvolutionOpInterface op, mpc_library_desc &desc) {
  if (op.getLayout() != Layout::ChannelsLast)
    return op->emitOpError("library calls take channels_last activations");
  Value result = op->getResult(0);
  desc.op = result == op.getOutput()  ? MPC_CONV_FORWARD
            : result == op.getInput() ? MPC_CONV_INPUT_GRAD
                                      : MPC_CONV_WEIGHT_GRAD;
  ArrayRef<int64_t> xs = shapeOf(op.getInput()), ws = shapeOf(op.getWeight()), ys = shapeOf(op.getOutput());
  desc.spatial = xs.size() - 2;
  desc.N = xs.front();
  desc.C = xs.back();
  desc.O = ws.front();
  desc.groups = op.getGroups();
  for (int i = 0; i < desc.spatial; ++i) {
    desc.in[i] = xs[1 + i];
    desc.out[i] = ys[1 + i];
    desc.kernel[i] = ws[2 + i];
    desc.stride[i] = op.getStrides()[i];
    desc.dilation[i] = op.getDilations()[i];
    desc.pad_low[i] = op.getPadLow()[i];
    desc.pad_high[i] = op.getPadHigh()[i];
  }
  return success();
}

FailureOr<LibraryCall> mpc::describeLibraryCall(kernel::DispatchOp dispatch) {
  FailureOr<kernel::HostCall> part = kernel::HostCall::of(dispatch);
  if (failed(part))
    return failure();
  ContractionOpInterface contraction = part->contraction;
  if (isFloat8(elementOf(contraction->getOperand(0))))
    return emitErrorWithHint(contraction.getLoc(), "products of 8-bit floats have no host kernel",
                             "compile for sm_90a");

  LibraryCall call;
  mpc_library_desc &desc = call.desc;
  auto argument = [&](Value v) { call.args.push_back(cast<BlockArgument>(v).getArgNumber()); };
  LogicalResult described = success();
  if (auto op = dyn_cast<MatMulOp>(*contraction))
    described = describeMatmul(op, desc);
  else if (auto op = dyn_cast<ConvolutionOpInterface>(*contraction))
    described = describeConv(op, desc);
  else
    return contraction.emitOpError("has no library call");
  if (failed(described))
    return failure();
  argument(contraction->getOperand(0));
  argument(contraction->getOperand(1));
  desc.type_a = dtypeOf(elementOf(contraction->getOperand(0)));
  desc.type_b = dtypeOf(elementOf(contraction->getOperand(1)));
  desc.type_out = dtypeOf(elementOf(contraction->getResult(0)));
  if (part->addend) {
    desc.has_bias = 1;
    desc.type_bias = dtypeOf(elementOf(part->addend));
    argument(part->addend);
  }
  call.args.push_back(dispatch.getInputs().size() + part->result);
  return call;
}
