// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

Value GraphBuilder::clip(Value x, double low, double high) const {
  return create<ClipOp>(x.getType(), x, builder.getF64FloatAttr(low), builder.getF64FloatAttr(high));
}

Value GraphBuilder::padZeros(Value x, Dims low, Dims high, Dims interior) const {
  auto list = [&](Dims numbers) { return builder.getDenseI64ArrayAttr(numbers); };
  return create<PadOp>(x, builder.getF64FloatAttr(0), list(low), list(high), list(interior));
}

Shape graph::allAxes(Value x) { return llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank())); }
