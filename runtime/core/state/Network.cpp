// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/state/Network.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace mpc::rt {

std::string networkText(const std::vector<NetworkTensor> &network) {
  std::string text;
  for (const auto &[tensor, origin] : network) {
    text += concat(tensor, "\t", origin.name);
    if (origin.input >= 0)
      text += concat("\t", origin.node, "\t", origin.input);
    text += "\n";
  }
  return text;
}

/// Returns the text before the next `end`, and removes both.
static std::string_view take(std::string_view &text, char end) {
  size_t size = std::min(text.find(end), text.size());
  std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

std::optional<std::vector<NetworkTensor>> networkOf(const SafetensorsReader &reader) {
  const std::string text = reader.metadata("network");
  std::string_view rest = text;
  if (take(rest, '\n').find('\t') == std::string_view::npos)
    return std::nullopt;
  std::vector<NetworkTensor> network;
  for (rest = text; !rest.empty();) {
    std::string_view line = take(rest, '\n');
    NetworkTensor item{std::string(take(line, '\t')), {std::string(take(line, '\t'))}};
    if (!line.empty()) {
      item.origin.node = take(line, '\t');
      auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), item.origin.input);
      if (error != std::errc() || end != line.data() + line.size() || item.origin.input < 0)
        fail(reader.path(), "its metadata holds no valid 'network'", "use another checkpoint");
    }
    if (!reader.tensors().count(item.tensor))
      fail(reader.path(), concat("its metadata names tensor '", item.tensor, "', which it does not hold"),
           "use another checkpoint");
    network.push_back(std::move(item));
  }
  return network;
}

std::string averagesText(const Manifest &manifest) {
  std::string text;
  for (const Variable &v : manifest.variables)
    if (v.role == "average")
      text += concat(v.of, "\t", v.name, "\n");
  return text;
}

std::map<std::string, std::string> averagesOf(const SafetensorsReader &reader) {
  std::map<std::string, std::string> averages;
  const std::string text = reader.metadata("averages");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take(rest, '\n'), parameter = take(line, '\t');
    if (!reader.tensors().count(std::string(line)))
      fail(reader.path(), concat("its metadata names the average '", line, "', which it does not hold"),
           "use another checkpoint");
    averages[std::string(parameter)] = line;
  }
  return averages;
}

/// Values of one input have the variable's name as key if their node lies in a function, because nodes there have no
/// names to refer to. Such keys never equal a name, because no name of a value holds a zero byte.
static std::string keyOf(const Origin &origin, const std::string &variable) {
  const std::string zero(1, '\0');
  return origin.input < 0      ? origin.name
         : origin.node.empty() ? concat(zero, variable)
                               : concat(origin.node, zero, origin.input);
}

NetworkReader::NetworkReader(const SafetensorsReader &file, bool averaged) : file_(file) {
  std::optional<std::vector<NetworkTensor>> network = networkOf(file);
  byVariable_ = !network && isCheckpoint(file);
  if (network) {
    for (const auto &[tensor, origin] : *network)
      names_[keyOf(origin, tensor)] = tensor;
  } else {
    for (const auto &[name, array] : file.tensors())
      names_[name] = name;
  }
  if (!averaged)
    return;
  const std::map<std::string, std::string> averages = averagesOf(file);
  for (auto &[key, tensor] : names_)
    if (auto it = averages.find(tensor); it != averages.end()) {
      tensor = it->second;
      ++averages_;
    }
}

const Array *NetworkReader::find(const Variable &v) const {
  auto at = [&](const std::string &key) -> const Array * {
    auto it = names_.find(key);
    return it == names_.end() ? nullptr : &file_.tensors().at(it->second);
  };
  if (byVariable_)
    return at(v.name);
  const Array *own = at(keyOf(v.origin, v.name));
  return own ? own : at(v.origin.name);
}

} // namespace mpc::rt
