// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/VerifyReference.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

namespace mpc::tool {

static constexpr const char *kWriteAgain = "write it again with tools/torch/export.py --reference";
/// The format that this code reads.
static constexpr int64_t kFormat = 1;
/// `meta` is a few lines; a larger array is something else.
static constexpr int64_t kMostMetaBytes = 1 << 20;

Reference::Reference(const std::string &path) : path(path), file(path) {
  if (!has("meta"))
    rt::fail(path, "has no array 'meta': it is no reference of PyTorch's numbers", kWriteAgain);
  readMeta();
  for (const char *name : {"loss", "own/loss"})
    if (!has(name))
      rt::fail(path, rt::concat("has no array '", name, "'"), kWriteAgain);
  if (names("input").empty())
    rt::fail(path, "has no arrays 'input/NAME'", kWriteAgain);
  if (names("grad").empty())
    rt::fail(path, "has no arrays 'grad/NAME': nothing was trained", kWriteAgain);
}

void Reference::readMeta() {
  const std::string where = path + ": meta";
  rt::Array bytes = file.read("meta", [&](mpc_dtype type, const rt::Shape &shape) {
    if (type != MPC_U8 || shape.size() != 1 || shape[0] > kMostMetaBytes)
      rt::fail(where, "is not a row of uint8 that holds JSON", kWriteAgain);
  });
  const char *text = reinterpret_cast<const char *>(bytes.data);
  try {
    const rt::json meta = rt::json::parse(text, text + bytes.elements());
    const auto format = meta.at("format").get<int64_t>();
    if (format != kFormat)
      rt::fail(path, rt::concat("is a reference of format ", format, "; this mpc reads format ", kFormat),
               "write it again with the tools/torch/export.py that belongs to this mpc");
    loss = meta.at("loss").get<std::string>();
    torch = meta.value("torch", "");
    precision = meta.value("precision", "float32");
    dropoutOff = meta.value("dropout", "") == "off";
    if (meta.contains("dims"))
      dims = meta.at("dims").get<std::map<std::string, int64_t>>();
  } catch (const rt::json::exception &error) {
    rt::fail(where, rt::concat("is not what a reference says about itself: ", error.what()), kWriteAgain);
  }
}

std::vector<std::string> Reference::names(const std::string &prefix) const {
  std::vector<std::string> found;
  for (const std::string &name : file.names())
    if (llvm::StringRef rest = name; rest.consume_front(prefix + "/"))
      found.push_back(rest.str());
  return found;
}

std::vector<double> Reference::values(const std::string &name, const rt::Shape &shape) const {
  rt::Array found = file.read(name, [&](mpc_dtype type, const rt::Shape &has) {
    if (has != shape)
      rt::fail(path + ": " + name,
               rt::concat("has the shape ", rt::toString(has), "; ", rt::toString(shape), " is expected"), kWriteAgain);
    if (!rt::isFloat(type))
      rt::fail(path + ": " + name, rt::concat("holds ", rt::nameOf(type), "; floats are expected"), kWriteAgain);
  });
  std::vector<double> values(size_t(found.elements()));
  rt::convert(found.dtype, found.data, MPC_F64, values.data(), values.size());
  return values;
}

std::optional<double> Reference::numberIfAny(const std::string &name) const {
  if (!has(name))
    return std::nullopt;
  const double value = number(name);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

} // namespace mpc::tool
