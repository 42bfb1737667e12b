//===- Attributes.cpp - verifies the attributes that other dialects' ops carry --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module has kernel.target and kernel.plan, a tensor of a planned module kernel.offset, and a GPU kernel
// kernel.entry, which becomes kernel.dynamic_shared and nvvm's attributes when it is lowered. No other attribute of the
// dialect stands on ops of other dialects, so a misspelled name is an error.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

//===-- The memory plan ---------------------------------------------------------------------===//

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t arena, int64_t state,
                               int64_t constants, int64_t temporaries, int64_t peak, int64_t saved) {
  if (llvm::any_of(ArrayRef({arena, state, constants, temporaries, peak, saved}),
                   [](int64_t bytes) { return bytes < 0; }))
    return emitError() << "a memory plan has sizes in bytes, none of them negative";
  if (peak != state + constants + temporaries)
    return emitError() << "peak_bytes is the sum of state_bytes, constant_bytes and temporary_bytes, "
                       << state + constants + temporaries << ", not " << peak;
  if (arena < peak)
    return emitError() << "the arena of " << arena << " bytes is smaller than peak_bytes, " << peak;
  return success();
}

FailureOr<PlanAttr> mpc::kernel::verifyPlanned(ModuleOp module) {
  constexpr llvm::StringLiteral hint = "run mpc-plan-arena and mpc-verify-arena first";
  PlanAttr plan = PlanAttr::of(module);
  if (!plan)
    return emitErrorWithHint(module.getLoc(), "the memory of this module is not planned: it has no " + PlanAttr::name,
                             hint);
  for (auto variable : module.getOps<train::VariableOp>())
    if (!variable->hasAttr(kOffsetAttr))
      return emitErrorWithHint(variable.getLoc(), "variable '" + variable.getSymName() + "' has no " + kOffsetAttr,
                               hint);
  for (auto entry : module.getOps<FunctionOpInterface>()) {
    for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
      if (!entry.getArgAttr(i, kOffsetAttr))
        return emitErrorWithHint(
            entry.getLoc(), "argument " + Twine(i) + " of entry '" + entry.getName() + "' has no " + kOffsetAttr, hint);
    for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
      if (!entry.getResultAttr(i, kOffsetAttr))
        return emitErrorWithHint(
            entry.getLoc(), "result " + Twine(i) + " of entry '" + entry.getName() + "' has no " + kOffsetAttr, hint);
    WalkResult walked = entry->walk<WalkOrder::PreOrder>([&](DispatchOp dispatch) {
      if (dispatch.getArgs() || dispatch.computesNothing())
        return WalkResult::skip(); // members of a batch have no places of their own
      (void)emitErrorWithHint(dispatch.getLoc(), "dispatch '" + dispatch.getName() + "' has no places (args)", hint);
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return plan;
}

static LogicalResult verifyOffset(Attribute value, function_ref<InFlightDiagnostic()> emitError) {
  auto offset = dyn_cast<IntegerAttr>(value);
  if (offset && offset.getType().isInteger(64) && offset.getInt() >= 0 &&
      offset.getInt() % graph::kTensorAlignment == 0)
    return success();
  return emitError() << kOffsetAttr << " is an i64 that is not negative and a multiple of " << graph::kTensorAlignment
                     << ", not " << value;
}

//===-- Kernels -----------------------------------------------------------------------------===//

static LogicalResult verifyEntry(Operation *op, Attribute value) {
  auto kernel = dyn_cast<LLVM::LLVMFuncOp>(op);
  auto entry = dyn_cast<EntryAttr>(value);
  if (!kernel || !entry)
    return op->emitOpError() << EntryAttr::name << " is a #" << EntryAttr::name
                             << " of a GPU kernel, which is an llvm.func";
  for (TensorMapAttr map : entry.getMaps())
    if (map.getParameter() >= kernel.getNumArguments())
      return op->emitOpError() << "a tensor map names parameter " << map.getParameter() << " of "
                               << kernel.getNumArguments();
  return success();
}

static LogicalResult verifyDynamicShared(Operation *op, Attribute value) {
  auto bytes = dyn_cast<IntegerAttr>(value);
  if (isa<LLVM::LLVMFuncOp>(op) && bytes && bytes.getType().isInteger(64) && bytes.getInt() > 0)
    return success();
  return op->emitOpError() << kDynamicSharedAttr << " is a positive i64 of a lowered kernel, which is an llvm.func";
}

//===-- What stands where -------------------------------------------------------------------===//

static LogicalResult unknown(Operation *op, StringRef name) {
  return op->emitOpError() << "has '" << name << "', which the kernel dialect does not define";
}

/// Verifies an attribute of a module.
template <typename Attr>
static LogicalResult verifyOnModule(Operation *op, Attribute value) {
  if (isa<ModuleOp>(op) && isa<Attr>(value))
    return success();
  return op->emitOpError() << Attr::name << " is a #" << Attr::name << " of a module";
}

/// A module of kernels has the target of the module that it is in.
static LogicalResult verifyTarget(Operation *op, Attribute value) {
  if (failed(verifyOnModule<TargetAttr>(op, value)))
    return failure();
  TargetAttr outer = TargetAttr::of(op->getParentOp());
  if (!outer || outer == value)
    return success();
  return op->emitOpError() << "is for " << cast<TargetAttr>(value).getName() << " and stands in a module for "
                           << outer.getName();
}

LogicalResult KernelDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().strref();
  Attribute value = attribute.getValue();
  if (name == TargetAttr::name)
    return verifyTarget(op, value);
  if (name == PlanAttr::name)
    return verifyOnModule<PlanAttr>(op, value);
  if (name == EntryAttr::name)
    return verifyEntry(op, value);
  if (name == kDynamicSharedAttr)
    return verifyDynamicShared(op, value);
  if (name != kOffsetAttr)
    return unknown(op, name);
  if (!isa<train::VariableOp, train::AllReduceOp, graph::ConstantOp>(op))
    return op->emitOpError()
           << "has " << name
           << ", which is for variables, constants, train.all_reduce, and arguments and results of entries";
  return verifyOffset(value, [&] { return op->emitOpError(); });
}

/// Verifies an attribute of an argument or result of an entry.
static LogicalResult verifyOfEntry(Operation *op, NamedAttribute attribute, StringRef what, unsigned number,
                                   Type type) {
  if (attribute.getName() != kOffsetAttr)
    return unknown(op, attribute.getName());
  if (!isa<RankedTensorType>(type))
    return op->emitOpError() << what << " " << number << " is no tensor and has " << kOffsetAttr;
  return verifyOffset(attribute.getValue(), [&] { return op->emitOpError() << what << " " << number << ": "; });
}

LogicalResult KernelDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                      NamedAttribute attribute) {
  return verifyOfEntry(op, attribute, "argument", argument, cast<FunctionOpInterface>(op).getArgumentTypes()[argument]);
}

LogicalResult KernelDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                         NamedAttribute attribute) {
  return verifyOfEntry(op, attribute, "result", result, cast<FunctionOpInterface>(op).getResultTypes()[result]);
}
