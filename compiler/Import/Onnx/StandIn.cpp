//===- StandIn.cpp - continues after a node that is not supported ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mpc check` lists everything at once, so the nodes behind a failed one are converted too, where the file
// states the types of the failed node's results (value_info, as exporters write it, or a graph output). A
// stand-in has the stated type and depends on the node's float operands with a gradient, so that the paths
// from the parameters to the loss stay as they are:  y = broadcast(mean(a) + mean(b)). It has no other
// meaning; the module serves to find further problems and is never compiled.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Import.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

void Import::collectStatedTypes() {
  const auto &graph = current->proto.graph();
  for (const auto *list : {&graph.value_info(), &graph.output()})
    for (const auto &info : *list)
      if (info.type().has_tensor_type() && info.type().tensor_type().has_shape())
        statedTypes.try_emplace(info.name(), &info.type().tensor_type());
}

bool Import::statesNumber(const std::string &name) const {
  auto it = statedTypes.find(name);
  return it != statedTypes.end() && it->second->shape().dim().empty();
}

RankedTensorType Import::statedType(const std::string &name) {
  auto it = statedTypes.find(name);
  if (it == statedTypes.end() || rebound) // the file states types for the batch that it was exported with
    return {};
  Shape shape;
  for (const auto &dim : it->second->shape().dim()) {
    auto bound = options.dims.find(dim.dim_param());
    if (dim.has_dim_value())
      shape.push_back(dim.dim_value());
    else if (bound != options.dims.end())
      shape.push_back(bound->second);
    else if (!batchName.empty() && dim.dim_param() == batchName && batch)
      shape.push_back(*batch);
    else
      return {};
  }
  // Integers may be shapes or indices; later nodes would ask for their values.
  Type element = elementType(context, it->second->elem_type());
  if (!isa_and_nonnull<FloatType>(element) || !elementCount(shape))
    return {};
  return RankedTensorType::get(shape, element);
}

void Import::standIn(const onnx::NodeProto &proto, Location loc) {
  Value mean; // the mean of all operands, built only once
  auto meanOfOperands = [&]() -> Value {
    for (const auto &input : proto.input()) {
      auto it = values.find(input);
      if (input.empty() || it == values.end() || it->second.poison || it->second.sequence)
        continue;
      Value x = materialize(it->second);
      if (!isa<FloatType>(elementOf(x)))
        continue;
      Shape axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
      Value own =
          castTo(builder, loc, ReduceMeanOp::create(builder, loc, x, axes, /*keepdims=*/false), builder.getF32Type());
      mean = mean ? Value(AddOp::create(builder, loc, mean, own)) : own;
    }
    return mean ? mean : mean = scalar(builder, loc, builder.getF32Type(), 0);
  };
  for (const auto &output : proto.output()) {
    if (output.empty() || values.count(output))
      continue;
    Entry entry;
    entry.poison = true;
    if (RankedTensorType type = options.keepGoing ? statedType(output) : RankedTensorType()) {
      Value value = castTo(builder, loc, mean ? mean : meanOfOperands(), type.getElementType());
      entry.poison = false;
      entry.type = type;
      entry.value = broadcastTo(builder, loc, value, type.getShape());
    }
    values.emplace(output, entry);
  }
}
