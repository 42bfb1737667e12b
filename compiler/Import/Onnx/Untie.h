//===- Untie.h - shared initializers become one for each use ---------------------===//
#ifndef MPC_IMPORT_ONNX_UNTIE_H
#define MPC_IMPORT_ONNX_UNTIE_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::onnx_import {

/// Gives each use of these float initializers, but the first, a copy of its own, called "NAME@NODE" after the node.
bool untieInitializers(onnx::GraphProto &, llvm::function_ref<bool(llvm::StringRef name)> chosen);

} // namespace mpc::onnx_import
#endif
