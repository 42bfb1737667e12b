//===- MinimumCut.h - the cheapest cut between two nodes of a graph -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_MEMORY_MINIMUMCUT_H
#define MPC_PASSES_MEMORY_MINIMUMCUT_H
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace mpc::memory {

/// A directed graph with two special nodes. Each edge has a capacity, which is its price in a cut.
class CutGraph {
public:
  static constexpr unsigned source = 0, sink = 1;
  static constexpr int64_t unlimited = INT64_MAX / 4;

  CutGraph() : edgesOf(2) {}
  /// Returns the number of a new node.
  unsigned addNode() { return edgesOf.emplace_back(), unsigned(edgesOf.size() - 1); }
  void addEdge(unsigned from, unsigned to, int64_t capacity);

  /// Returns the nodes on the sink's side of a minimum cut: the sum of the capacities of the edges into that side is
  /// the least. Of several such cuts it is the one nearest to the sink. The capacities are used up. Each path from
  /// source to sink has an edge that is not unlimited.
  llvm::BitVector cutNearSink();

private:
  bool augment();

  /// An edge at an even place and its reverse behind it, with what is left of their capacities.
  struct Edge {
    unsigned to;
    int64_t left;
  };
  llvm::SmallVector<Edge> edges;
  std::vector<llvm::SmallVector<unsigned, 4>> edgesOf;
};

} // namespace mpc::memory
#endif
