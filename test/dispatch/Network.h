//===- Network.h - a network, planned for a target, and data to run it on ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_DISPATCH_NETWORK_H
#define MPC_TEST_DISPATCH_NETWORK_H
#include "compiler/Evaluator/HostTensor.h"
#include "compiler/Pipeline/Pipeline.h"
#include "mlir/IR/OwningOpRef.h"
#include <ostream>

namespace mpc::test {

/// A case names a network and says how it is trained.
struct NetworkCase {
  std::string name; ///< "own", or a network of shared/gradref or shared/models/full-size
  std::string precision, level;
  std::string optimizer;
  double clipNorm = 0;
  int64_t batch = 0; ///< 0 means the batch of the file
  std::string label() const { return name + "_" + precision + "_" + level; }
};
inline void PrintTo(const NetworkCase &c, std::ostream *os) { *os << c.label(); }
/// Returns every network in fp32 O0, fp16 O1 and O2, bf16 O1 and O2.
std::vector<NetworkCase> networkCases();

/// A case, planned for a GPU.
struct GpuCase {
  NetworkCase network;
  std::string arch;
  std::string label() const { return network.label() + "_" + arch; }
};
inline void PrintTo(const GpuCase &c, std::ostream *os) { *os << c.label(); }
/// Returns a GPU for each case, and each network on sm_75, sm_80 and sm_90a; with MPC_ALL_PAIRS in the environment, as
/// `make campaigns` has it, every case on all three.
std::vector<GpuCase> gpuCases(const std::vector<NetworkCase> &cases);

/// Returns cases of other architectures and of full size, which are planned but not run.
std::vector<NetworkCase> plannedCases();

/// Returns whether the case's files are here.
bool available(const NetworkCase &c);

/// Makes a context that can import, plan and evaluate.
std::unique_ptr<mlir::MLIRContext> makeNetworkContext();

/// Returns the network's entries, planned for the host or for a GPU (fused and placed in the arena). Null
/// after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> planNetwork(mlir::MLIRContext *context, const NetworkCase &c,
                                              const GpuArch *gpu = nullptr);

/// Returns values for the arguments of an entry: the first samples of the reference's batch, in the entry's
/// stored order, or random ones.
llvm::SmallVector<HostTensor> inputsOf(mlir::Operation *entry, const NetworkCase &c);

} // namespace mpc::test
#endif
