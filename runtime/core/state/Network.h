// The network's tensors in a file of safetensors: which of the ONNX model's values each of them holds.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/state/Safetensors.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// The "format" in a checkpoint's metadata; the first one had no checksum of the header.
inline constexpr char kCheckpointFormat[] = "mpc-checkpoint-2", kFirstCheckpointFormat[] = "mpc-checkpoint-1";
inline bool isCheckpoint(const SafetensorsReader &file) {
  const std::string format = file.metadata("format");
  return format == kCheckpointFormat || format == kFirstCheckpointFormat;
}

/// Compares a file with its checksums, which all but the first checkpoints and files of others have. Throws
/// Error.
inline void verify(const SafetensorsReader &file) {
  file.verify(/*required=*/file.metadata("format") == kCheckpointFormat);
}

/// A parameter or a buffer of the network in a file.
struct NetworkTensor {
  std::string tensor;
  Origin origin;
};

/// What a checkpoint's metadata holds under "network": a line for each tensor, its name and its origin's
/// name, node and input, with tabs between them. The names hold neither, since the import writes control
/// characters as \xNN.
std::string networkText(const std::vector<NetworkTensor> &);
/// The network's tensors of a checkpoint. Nothing when the file does not say: it is no checkpoint, or was
/// written before checkpoints did.
std::optional<std::vector<NetworkTensor>> networkOf(const SafetensorsReader &);

/// Finds the values of variables in a checkpoint, of another program too, or among plain weights.
class NetworkReader {
public:
  explicit NetworkReader(const SafetensorsReader &);
  /// The tensor that holds a variable's values, or null. A variable that shares its initializer with others
  /// takes the initializer's where it finds no values of its own.
  const Array *find(const Variable &) const;

private:
  const SafetensorsReader &file_;
  bool byVariable_ = false; // a checkpoint that does not say: the tensors bear the variables' names
  std::map<std::string, std::string> names_; // of the origins, where the file says them
};

} // namespace mpc::rt
