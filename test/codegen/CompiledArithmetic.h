//===- CompiledArithmetic.h - what GPU kernels compute with, compiled for the host -----===//
#ifndef MPC_TEST_CODEGEN_COMPILEDARITHMETIC_H
#define MPC_TEST_CODEGEN_COMPILEDARITHMETIC_H
#include "KernelHarness.h"

namespace mpc::test {

/// `void name(in0, in1, out, n)` that applies an op to arrays. `op`: an operation on %x, and %y with
/// `binary`, of type `from`, that defines %r of type `to`.
std::string loopOver(const std::string &name, const std::string &op, bool binary, const std::string &from,
                     const std::string &to);
using ArrayFunction = void (*)(const void *, const void *, void *, int64_t);

/// The functions of a module in text, their arithmetic expanded as for GPUs and compiled without libm: an
/// undefined symbol would fail to link.
class CompiledArithmetic {
public:
  explicit CompiledArithmetic(const std::string &text);
  ArrayFunction find(const std::string &name) const {
    return reinterpret_cast<ArrayFunction>(reinterpret_cast<void *>(library->find(name)));
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Library> library;
};

} // namespace mpc::test
#endif
