//===- CompiledArithmetic.h - what GPU kernels compute with, compiled for the host -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_CODEGEN_COMPILEDARITHMETIC_H
#define MPC_TEST_CODEGEN_COMPILEDARITHMETIC_H
#include "KernelHarness.h"

namespace mpc::test {

/// Returns the function `void name(in0, in1, out, n)` that applies `op` to arrays. `op` is an operation on
/// %x, and on %y with `binary`, of type `from`; it defines %r of type `to`.
std::string loopOver(const std::string &name, const std::string &op, bool binary, const std::string &from,
                     const std::string &to);
using ArrayFunction = void (*)(const void *, const void *, void *, int64_t);

/// Compiles the functions of a module in MLIR text, with arithmetic expanded as for GPUs. It links without
/// libm, so that an undefined symbol fails to link.
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
