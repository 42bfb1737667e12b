// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The network's tensors in a safetensors file, and the values of the ONNX model that each of them holds.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/state/Safetensors.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// The "format" in a checkpoint's metadata; the first format had no checksum of the header.
inline constexpr char kCheckpointFormat[] = "mpc-checkpoint-2", kFirstCheckpointFormat[] = "mpc-checkpoint-1";
inline bool isCheckpoint(const SafetensorsReader &file) {
  const std::string format = file.metadata("format");
  return format == kCheckpointFormat || format == kFirstCheckpointFormat;
}

/// Compares a file with its checksums, which all files have except the first checkpoints and files of other
/// programs. Throws Error.
inline void verify(const SafetensorsReader &file) {
  file.verify(/*required=*/file.metadata("format") == kCheckpointFormat);
}

/// Describes a parameter or a buffer of the network in a file.
struct NetworkTensor {
  std::string tensor;
  Origin origin;
};

/// Returns the text that a checkpoint's metadata holds under "network": one line for each tensor, with its name and its
/// origin's name, node and input, separated by tabs. The names contain neither tabs nor line ends, because the import
/// writes control characters as \xNN.
std::string networkText(const std::vector<NetworkTensor> &);
/// Returns the network's tensors of a checkpoint. Returns nothing when the file does not list them: it is no
/// checkpoint, or is older than this list.
std::optional<std::vector<NetworkTensor>> networkOf(const SafetensorsReader &);

/// Returns the text that a checkpoint's metadata holds under "averages": one line for each parameter that has a moving
/// average, with the names of both tensors, separated by a tab.
std::string averagesText(const Manifest &);
/// Returns the tensors with the moving averages of a checkpoint's parameters, by the names of the parameters' tensors;
/// empty where the file has none. Throws Error.
std::map<std::string, std::string> averagesOf(const SafetensorsReader &);

/// Finds the values of variables in a checkpoint, possibly of another program, or among plain weights.
class NetworkReader {
public:
  /// `averaged`: finds the moving average of a parameter instead of the parameter, where the file has one.
  explicit NetworkReader(const SafetensorsReader &, bool averaged = false);
  /// Returns the tensor that holds a variable's values, or null. A variable that shares its initializer with others
  /// takes the initializer's tensor when the file has no values for the variable alone.
  const Array *find(const Variable &) const;
  /// Returns how many parameters have averages that are found instead.
  size_t averages() const { return averages_; }

private:
  const SafetensorsReader &file_;
  size_t averages_ = 0;
  bool byVariable_ = false; // true for a checkpoint without a list: its tensors have the variables' names
  std::map<std::string, std::string> names_; // maps the keys of origins (or plain names) to tensors
};

} // namespace mpc::rt
