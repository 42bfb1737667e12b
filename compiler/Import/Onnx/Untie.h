//===- Untie.h - shared initializers become one for each use ---------------------===//
#ifndef MPC_IMPORT_ONNX_UNTIE_H
#define MPC_IMPORT_ONNX_UNTIE_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::onnx_import {

/// Gives each use of these float initializers, but the first, a copy of its own, called "NAME@NODE" after the node.
bool untieInitializers(onnx::GraphProto &, llvm::function_ref<bool(llvm::StringRef name)> chosen);

/// Gives the running statistics of a batch norm that are read otherwise too a copy each: some tool has merged equal tensors, of which one is updated and the
/// other trained or constant. Returns how many.
size_t untieStatistics(onnx::GraphProto &);

} // namespace mpc::onnx_import
#endif
