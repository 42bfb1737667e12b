//===- OnnxProto.h - the protobuf classes, in one place ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_ONNXPROTO_H
#define MPC_IMPORT_ONNX_ONNXPROTO_H
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>
#include <type_traits>

namespace mpc::onnx_import {

/// Visits every node of a graph and of the graphs inside it (branches and loop bodies); a node comes before
/// the nodes inside it. `Graph` is onnx::GraphProto, const or not.
template <typename Graph, typename Visit>
void forEachNode(Graph &graph, const Visit &visit) {
  auto inside = [&](auto &nodes) {
    for (auto &node : nodes) {
      visit(node);
      if constexpr (std::is_const_v<Graph>) {
        for (const auto &attribute : node.attribute()) {
          forEachNode(attribute.g(), visit);
          for (const auto &inner : attribute.graphs())
            forEachNode(inner, visit);
        }
      } else {
        for (auto &attribute : *node.mutable_attribute()) {
          if (attribute.has_g())
            forEachNode(*attribute.mutable_g(), visit);
          for (auto &inner : *attribute.mutable_graphs())
            forEachNode(inner, visit);
        }
      }
    }
  };
  if constexpr (std::is_const_v<Graph>)
    inside(graph.node());
  else
    inside(*graph.mutable_node());
}

} // namespace mpc::onnx_import
#endif
