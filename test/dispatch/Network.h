//===- Network.h - a network, planned for the host, and data to run it on ------------------===//
#ifndef MPC_TEST_DISPATCH_NETWORK_H
#define MPC_TEST_DISPATCH_NETWORK_H
#include "compiler/Evaluator/HostTensor.h"
#include "compiler/Pipeline/Pipeline.h"
#include "mlir/IR/OwningOpRef.h"
#include <ostream>

namespace mpc::test {

/// One case: which network, and how it is trained.
struct NetworkCase {
  std::string name; ///< "own", or a network of shared/gradref
  std::string precision, level;
  std::string optimizer;
  double clipNorm = 0;
  std::string label() const { return name + "_" + precision + "_" + level; }
};
inline void PrintTo(const NetworkCase &c, std::ostream *os) { *os << c.label(); }
/// Every network in fp32 O0, fp16 O1 and O2, bf16 O1 and O2.
std::vector<NetworkCase> networkCases();

/// Whether the case's files are here.
bool available(const NetworkCase &c);

/// A context that can import, plan and evaluate.
std::unique_ptr<mlir::MLIRContext> makeNetworkContext();

/// The network's entries, planned for the host (fused, placed in the arena). Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> planNetwork(mlir::MLIRContext *context, const NetworkCase &c);

/// Values for the arguments of an entry: the reference's batch in the order that the entry stores, or random ones.
llvm::SmallVector<HostTensor> inputsOf(mlir::Operation *entry, const NetworkCase &c);

} // namespace mpc::test
#endif
