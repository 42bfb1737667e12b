//===- TuningFile.cpp - measurements of schedules as a file ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/TuningFile.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/InputFile.h"
#include "passes/Lowering/Schedule/ProblemKey.h"
#include "llvm/Support/MemoryBuffer.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;
using nlohmann::json;

static constexpr int64_t version = 1;

namespace {
/// An error about a place in the file that does not have the expected form.
struct Malformed {
  std::string what;
};

/// A value together with its place, such as "problems[0].candidates[2]", for messages.
struct Node {
  const json &value;
  std::string place;

  [[noreturn]] void fail(const std::string &what) const {
    throw Malformed{(place.empty() ? "the file" : place) + " " + what};
  }
  Node at(const char *key) const {
    if (!value.is_object())
      fail("is no object");
    auto found = value.find(key);
    if (found == value.end())
      fail(std::string("has no '") + key + "'");
    return {*found, place.empty() ? key : place + "." + key};
  }
  std::string text() const {
    if (!value.is_string())
      fail("is no string");
    return value.get<std::string>();
  }
  std::vector<Node> items() const {
    if (!value.is_array())
      fail("is no list");
    std::vector<Node> nodes;
    for (size_t i = 0; i < value.size(); ++i)
      nodes.push_back({value[i], place + "[" + std::to_string(i) + "]"});
    return nodes;
  }
};
} // namespace

static Tuning parse(const json &file, MLIRContext *context) {
  Node root{file, ""};
  if (root.at("format").text() != "mpc-tuning")
    root.at("format").fail("is not 'mpc-tuning'");
  if (Node number = root.at("version"); !number.value.is_number_integer())
    number.fail("is no number");
  else if (number.value != version)
    number.fail("is " + number.value.dump() + ", this mpc reads " + std::to_string(version));
  Tuning tuning;
  tuning.gpu = root.at("gpu").text();
  tuning.arch = root.at("arch").text();
  if (!findGpuArch(tuning.arch))
    root.at("arch").fail("is '" + tuning.arch + "', known are " + gpuArchNames());
  for (const Node &entry : root.at("problems").items()) {
    std::string problem = entry.at("problem").text();
    if (!ProblemKey::parse(problem, context))
      entry.at("problem").fail("is no problem: '" + problem + "'");
    auto &measurements = tuning.problems[problem];
    for (const Node &candidate : entry.at("candidates").items()) {
      Tuning::Measured measured{candidate.at("schedule").text(), 0};
      if (!kernel::Contraction::hasForm(measured.schedule))
        candidate.at("schedule").fail("is no schedule: '" + measured.schedule + "'");
      Node time = candidate.at("us");
      if (!time.value.is_number() || !(time.value.get<double>() > 0))
        time.fail("is no time above 0");
      measured.microseconds = time.value.get<double>();
      measurements.push_back(std::move(measured));
    }
    llvm::stable_sort(measurements, [](const auto &a, const auto &b) { return a.microseconds < b.microseconds; });
  }
  return tuning;
}

FailureOr<Tuning> hero::readTuningFile(MLIRContext *context, StringRef path) {
  auto loc = NameLoc::get(StringAttr::get(context, path));
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readRegularFile(path, why);
  if (!buffer)
    return emitErrorWithHint(loc, "cannot read it: " + why, "--tune takes a file that a tuner wrote (--emit=tuner)");
  const char *hint = "write it again with a tuner of this version (--emit=tuner)";
  try {
    Tuning tuning = parse(json::parse(buffer->getBuffer().begin(), buffer->getBuffer().end()), context);
    tuning.file = path.str();
    return tuning;
  } catch (const Malformed &malformed) {
    return emitErrorWithHint(loc, malformed.what, hint);
  } catch (const json::exception &error) {
    // The text of a json exception is: "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    return emitErrorWithHint(loc, StringRef(error.what()).split("] ").second, hint);
  }
}
