//===- Exporter.h - trained values back into an ONNX model ----------------------------------===//
#ifndef MPC_EXPORT_ONNX_EXPORTER_H
#define MPC_EXPORT_ONNX_EXPORTER_H
#include "mpc/kernel.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpc {

/// A trained tensor: row-major f32 elements.
struct TrainedTensor {
  bool required = false; // a parameter or a buffer of the network: without a place for it the model would
                         // compute something else
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// What stands against an export: where, what, and the user's next action.
struct ExportError {
  std::string where, what, hint;
};

/// The serialised model at `path` with every initializer that `tensors` names replaced, in the initializer's
/// own float type; a parameter that is a graph input becomes an initializer. Returns how many were replaced,
/// or -1 with `error` set: not a model, a shape or type that differs, no name in common, no place for a
/// required tensor, or, with `elsewhere`, external data: the model is to be written into another folder,
/// where its data files are not.
int64_t exportOnnx(const std::string &path, const std::map<std::string, TrainedTensor> &tensors,
                   bool elsewhere, std::string &bytes, ExportError &error);

} // namespace mpc
#endif
