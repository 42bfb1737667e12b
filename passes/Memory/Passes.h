//===- Passes.h - memory passes -------------------------------------------===//
#ifndef MPC_PASSES_MEMORY_PASSES_H
#define MPC_PASSES_MEMORY_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc::memory {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// The alignment of every buffer in the arena, in bytes: one cache line, one AVX-512 vector.
inline constexpr int64_t kAlignment = 64;
/// The attribute that holds a buffer's offset in the arena, in bytes.
inline constexpr llvm::StringLiteral kOffsetAttr = "kernel.offset";
inline constexpr llvm::StringLiteral kPlanAttr = "kernel.plan";

} // namespace mpc::memory
#endif
