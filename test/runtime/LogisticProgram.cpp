// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LogisticProgram.h"

#include "LogisticKernels.h"
#include "runtime/core/data/Npz.h"
#include "runtime/support/Random.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace mpc::rt::test {

std::string logisticManifest() {
  return R"({
  "format": 1, "producer": "test", "model": "logistic", "precision": {"type": "fp16", "opt_level": "O2"}, "batch": 4,
  "variables": [
    {"name": "w", "role": "parameter", "dtype": "f32", "shape": [3,2], "init": {"kind": "data", "offset": 0, "bytes": 24}},
    {"name": "w/momentum", "role": "slot", "of": "w", "step": "main", "dtype": "f32", "shape": [3,2], "init": {"kind": "fill", "value": 0}},
    {"name": "w/f16", "role": "copy", "of": "w", "dtype": "f16", "shape": [3,2], "init": {"kind": "copy"}},
    {"name": "main/lr", "role": "hyper", "dtype": "f32", "shape": [], "init": {"kind": "fill", "value": 0}},
    {"name": "main/mu", "role": "hyper", "dtype": "f32", "shape": [], "init": {"kind": "fill", "value": 0}},
    {"name": "main/scale", "role": "scaler", "dtype": "f32", "shape": [], "init": {"kind": "fill", "value": 65536}},
    {"name": "main/tracker", "role": "scaler", "dtype": "i32", "shape": [], "init": {"kind": "fill", "value": 0}},
    {"name": "main/skipped", "role": "counter", "dtype": "i32", "shape": [], "init": {"kind": "fill", "value": 0}}
  ],
  "steps": [{"name": "main", "optimizer": "sgd", "entry": "main",
    "hyper": {"lr": {"variable": "main/lr", "default": 0.1}, "momentum": {"variable": "main/mu", "default": 0.9}},
    "scaler": {"scale": "main/scale", "tracker": "main/tracker", "skipped": "main/skipped"}, "accumulate": 1}],
  "metrics": [{"name": "accuracy", "kind": "accuracy", "logits": "logits", "labels": "target"}],
  "plans": [{"target": "host", "arena_bytes": 1024, "state_bytes": 80, "saved_bytes": 0, "peak_bytes": 1024,
    "storage": [
      {"variable": "w", "offset": 0, "bytes": 24, "permutation": [1,0]},
      {"variable": "w/momentum", "offset": 64, "bytes": 24, "permutation": [1,0]},
      {"variable": "w/f16", "offset": 128, "bytes": 12, "permutation": [1,0]},
      {"variable": "main/lr", "offset": 192, "bytes": 4}, {"variable": "main/mu", "offset": 196, "bytes": 4},
      {"variable": "main/scale", "offset": 200, "bytes": 4}, {"variable": "main/tracker", "offset": 204, "bytes": 4},
      {"variable": "main/skipped", "offset": 208, "bytes": 4}],
    "constants": [],
    "entries": [
      {"name": "main", "kind": "train",
       "inputs": [{"name": "x", "dtype": "f32", "shape": [4,3,2], "offset": 256, "bytes": 96, "batched": true, "permutation": [0,2,1]},
                  {"name": "target", "dtype": "i64", "shape": [4], "offset": 384, "bytes": 32, "batched": true, "labels_below": 2}],
       "outputs": [{"name": "loss", "role": "loss", "dtype": "f32", "shape": [], "offset": 448, "bytes": 4},
                   {"name": "grad_w", "role": "grad", "of": "w", "dtype": "f32", "shape": [3,2], "offset": 512, "bytes": 24, "permutation": [1,0]}],
       "launches": [
         {"name": "forward", "loc": "Gemm_0", "kernel": "logistic_forward", "grid": 4, "grain": 1, "args": [128, 256, 384, 576, 640, 704],
          "operands": [[128, "f16", 6], [256, "f32", 24]], "results": [[576, "f32", 8], [640, "f32", 4], [704, "f32", 4]], "nodes": ["Gemm_0", "Loss"]},
         {"name": "loss", "loc": "Loss", "kernel": "logistic_loss", "grid": 1, "grain": 1, "args": [640, 448],
          "operands": [[640, "f32", 4]], "results": [[448, "f32", 1]]},
         {"name": "gradient", "loc": "Gemm_0", "kernel": "logistic_gradient", "grid": 6, "grain": 2, "args": [576, 256, 384, 200, 768, 512],
          "operands": [[576, "f32", 8], [256, "f32", 24], [200, "f32", 1]], "results": [[768, "f32", 6], [512, "f32", 6]]},
         {"name": "update", "loc": "w", "kernel": "logistic_update", "grid": 1, "grain": 1, "args": [0, 64, 128, 768, 192, 196, 200, 204, 208],
          "operands": [[768, "f32", 6]], "results": [[0, "f32", 6], [64, "f32", 6], [128, "f16", 6]]}]},
      {"name": "eval", "kind": "eval",
       "inputs": [{"name": "x", "dtype": "f32", "shape": [4,3,2], "offset": 256, "bytes": 96, "batched": true, "permutation": [0,2,1]},
                  {"name": "target", "dtype": "i64", "shape": [4], "offset": 384, "bytes": 32, "batched": true, "labels_below": 2}],
       "outputs": [{"name": "logits", "role": "output", "dtype": "f32", "shape": [4,2], "offset": 576, "bytes": 32, "batched": true},
                   {"name": "sample_loss", "role": "sample_loss", "dtype": "f32", "shape": [4], "offset": 640, "bytes": 16},
                   {"name": "sample_weight", "role": "sample_weight", "dtype": "f32", "shape": [4], "offset": 704, "bytes": 16}],
       "launches": [{"name": "forward", "kernel": "logistic_forward", "grid": 4, "grain": 1, "args": [128, 256, 384, 576, 640, 704]}]},
      {"name": "predict", "kind": "predict",
       "inputs": [{"name": "x", "dtype": "f32", "shape": [4,3,2], "offset": 256, "bytes": 96, "batched": true, "permutation": [0,2,1]}],
       "outputs": [{"name": "logits", "role": "output", "dtype": "f32", "shape": [4,2], "offset": 576, "bytes": 32, "batched": true}],
       "launches": [{"name": "forward", "kernel": "logistic_forward", "grid": 4, "grain": 1, "args": [128, 256, 384, 576, 640, 704]}]}
    ]}]
})";
}

std::string countingManifest() {
  std::string text = logisticManifest();
  auto insertBefore = [&](std::string_view old, std::string_view added) { text.insert(text.find(old), added); };
  insertBefore(R"({"name": "main/skipped",)",
               R"({"name": "rng.step", "role": "counter", "dtype": "i64", "shape": [],
                  "init": {"kind": "fill", "value": 100}}, )");
  insertBefore(R"({"variable": "main/skipped",)", R"({"variable": "rng.step", "offset": 216, "bytes": 8}, )");
  return text;
}

std::string logisticData() {
  const float w[] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  return {reinterpret_cast<const char *>(w), sizeof w};
}

std::shared_ptr<const Program> logisticProgram(const std::string &manifest) {
  return Program::fromMemory(manifest, {{"data", logisticData()}},
                             {{"logistic_forward", logistic_forward},
                              {"logistic_loss", logistic_loss},
                              {"logistic_gradient", logistic_gradient},
                              {"logistic_update", logistic_update}});
}

std::string writeLogisticData(const std::string &path, int64_t samples, uint64_t seed) {
  Tensor x(MPC_F32, {samples, 3, 2}), target(MPC_I64, {samples});
  RandomStream random(seed, "x"), noise(seed, "noise");
  for (int64_t n = 0; n < samples; ++n) {
    double sum = 0.3 * noise.normal(uint64_t(n));
    for (int64_t i = 0; i < 6; ++i) {
      double value = random.normal(uint64_t(n * 6 + i));
      x.as<float>()[size_t(n * 6 + i)] = float(value);
      sum += (i % 2 ? -1 : 1) * value;
    }
    target.as<int64_t>()[size_t(n)] = sum > 0;
  }
  NpzWriter writer(path);
  writer.add("x", x);
  writer.add("target", target);
  writer.finish();
  return path;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "mpc-test-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}
TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void writeFile(const std::string &path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
}

Error errorOf(const std::function<void()> &work) {
  std::optional<Error> error = attempt(work);
  EXPECT_TRUE(error.has_value()) << "no error was thrown";
  return error.value_or(Error("", ""));
}

} // namespace mpc::rt::test
