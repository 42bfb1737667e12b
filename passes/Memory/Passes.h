//===- Passes.h - memory passes -------------------------------------------===//
#ifndef MPC_PASSES_MEMORY_PASSES_H
#define MPC_PASSES_MEMORY_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <functional>

namespace mpc::memory {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

/// Whether a target's kernel for this dispatch may write `result` into the buffer of `input`.
using MayShareFn = std::function<bool(kernel::DispatchOp, unsigned result, unsigned input)>;
/// Without a function nothing shares.
std::unique_ptr<mlir::Pass> createPlanArenaPass(MayShareFn mayShare);

/// Alignment of every buffer in the arena, bytes: one cache line, one AVX-512 vector.
inline constexpr int64_t kAlignment = 64;
/// Attribute that holds a buffer's offset in the arena, bytes.
inline constexpr llvm::StringLiteral kOffsetAttr = "kernel.offset";
inline constexpr llvm::StringLiteral kPlanAttr = "kernel.plan";

} // namespace mpc::memory
#endif
