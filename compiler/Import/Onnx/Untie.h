//===- Untie.h - gives each use of a shared initializer one of its own --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_UNTIE_H
#define MPC_IMPORT_ONNX_UNTIE_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::onnx_import {

/// Gives each use of the chosen float initializers, except the first use, a copy of its own, called
/// "NAME@NODE" after the node. Returns whether there were any.
bool untieInitializers(onnx::GraphProto &, llvm::function_ref<bool(llvm::StringRef name)> chosen);

/// Gives running statistics of batch norms that have other uses too a copy each: some tool has merged equal
/// tensors, of which one is updated and the other is trained or constant. Returns the number of copies.
size_t untieStatistics(onnx::GraphProto &);

} // namespace mpc::onnx_import
#endif
