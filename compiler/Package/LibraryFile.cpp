// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/LibraryFile.h"
#include "compiler/Package/ProgramFile.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using Json = nlohmann::json;

/// The text of runtime/abi/mpc/kernel.h and program.h, without the #include between them.
static constexpr const char abiText[] =
#include "compiler/Package/ProgramAbi.inc"
    ;

/// "my-model.v2" -> "MY_MODEL_V2".
static std::string identifier(StringRef text) {
  std::string result;
  for (char c : text)
    result += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  return result.empty() || llvm::isDigit(result[0]) ? "MODEL_" + result : result;
}

/// Replaces what would end a C comment.
static std::string inComment(StringRef text) {
  std::string result = text.str();
  for (size_t at; (at = result.find("*/")) != std::string::npos;)
    result[at + 1] = '|';
  for (char &c : result)
    if (llvm::isSpace(c))
      c = ' ';
  return result;
}

static std::string portLine(const Json &port) {
  std::string line = " *   " + port.at("name").get<std::string>() + ": " + port.at("dtype").get<std::string>() + " " +
                     port.at("shape").dump();
  if (port.contains("role") && port["role"] != "output")
    line += " (" + port["role"].get<std::string>() + ")";
  auto addRanges = [&](const Json &of, const std::string &what) {
    if (of.contains("labels_below"))
      line += ", " + what + " in [0, " + of["labels_below"].dump() + ")" +
              (of.contains("labels_ignore") ? " or " + of["labels_ignore"].dump() : "");
    if (of.contains("indices_below"))
      line += ", " + what + " in [-" + of["indices_below"].dump() + ", " + of["indices_below"].dump() + ")";
    if (of.contains("lengths_up_to"))
      line += ", " + what + " in [0, " + of["lengths_up_to"].dump() + "]";
  };
  addRanges(port, "values");
  if (port.contains("sequences"))
    line += ", as many classes as '" + port["sequences"]["lengths"].get<std::string>() + "' says";
  if (port.contains("parts"))
    for (const Json &part : port["parts"])
      addRanges(part, "from " + part["from"].dump() + " to " + part["to"].dump() + " of each sample");
  return inComment(line.substr(2)).insert(0, " *") + "\n";
}

/// The header's first line has this text behind the model's name.
static const char *const kBanner = ": a training program as a library, made by ";

bool mpc::isLibraryHeader(StringRef text) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  return line.starts_with("/* ") && line.contains(kBanner);
}

std::string mpc::libraryHeader(StringRef manifestJson, StringRef library) {
  Json manifest = Json::parse(manifestJson.begin(), manifestJson.end());
  std::string model = manifest.at("model"), prefix = identifier(model);
  const Json &precision = manifest.at("precision");
  std::string text = "/* " + inComment(model) + kBanner + manifest.at("producer").get<std::string>() + " (" +
                     precision.at("type").get<std::string>() + ", " + precision.at("opt_level").get<std::string>() +
                     ").\n * Link with " + inComment(llvm::sys::path::filename(library)) +
                     "; mpc_open(NULL, NULL) opens this model.\n";
  for (const Json &entry : manifest.at("plans").at(0).at("entries")) {
    std::string kind = entry.at("kind");
    if (kind == "trace")
      continue;
    text += " *\n * " + kind + ", inputs:\n";
    for (const Json &port : entry.at("inputs"))
      text += portLine(port);
    text += " * " + kind + ", outputs:\n";
    for (const Json &port : entry.at("outputs"))
      text += portLine(port);
  }
  size_t parameters =
      llvm::count_if(manifest.at("variables"), [](const Json &v) { return v.at("role") == "parameter"; });
  text += " *\n * " + std::to_string(parameters) + " parameters, under their ONNX names.\n */\n#define " + prefix +
          "_BATCH " + manifest.at("batch").dump() + "\n\n";
  return text + abiText;
}

LogicalResult mpc::writeLibrary(Location loc, StringRef path, StringRef runtime,
                                const std::map<std::string, std::string> &sections) {
  // The dynamic string table has a placeholder, "MPC_SONAME" and underscores (runtime/CMakeLists.txt).
  std::string file = runtime.str();
  size_t begin = file.find("MPC_SONAME____"), end = begin == std::string::npos ? begin : file.find('\0', begin);
  StringRef name = llvm::sys::path::filename(path);
  if (end == std::string::npos || name.size() > end - begin)
    return emitErrorWithHint(loc, Twine("cannot name a library '") + name + "'",
                             "build or install mpc again, or choose a shorter name with -o");
  std::fill(file.begin() + begin, file.begin() + end, '\0');
  std::copy(name.begin(), name.end(), file.begin() + begin);
  return writeProgram(loc, path, file, sections);
}
