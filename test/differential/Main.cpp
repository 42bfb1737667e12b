//===- Main.cpp - mpc-differential: compiles, evaluates and runs one model after the other ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the worker of fuzz.py. Starting a process costs more than a small graph, so one process takes many: a request
// is one line of JSON on stdin, and its answer is one line on stdout. The sender of requests ends the process when a
// request takes too long, and recognises a crash by its exit status.
//
//   {"model": FILE.onnx, "data": FILE.npz, "out": FILE, "loss": SPEC, "trainable": REGEX,
//    "work": [{"kind": ..., ...}, ...]}
//
// `work` is a list of what is to be done. Each item starts from the file again:
//   {"kind": "check"}      the report of mpc check
//   {"kind": "forward"}    the network's outputs by the evaluator
//   {"kind": "evaluate", "at": "autodiff" | "training" | "planned"}
//                          loss and gradients by the evaluator after this stage
//   {"kind": "run"}        loss and gradients of the compiled program's first step
// Items also have "precision", "level", "scale" and "mode" (exact or rounded). The answer has one object for each item:
// "ok", "errors" (where, what, hints), and "tensors" (name, shape, offset), whose elements are float64 numbers in OUT.
//
//===----------------------------------------------------------------------------------------------------===//
#include "test/differential/Work.h"
#include "llvm/Support/raw_ostream.h"
#include <fstream>
#include <iostream>

using namespace mpc::test;

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    auto request = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!request.is_object()) {
      std::cerr << "error: stdin: a request is one line of JSON\nhint: start fuzz.py, which writes them\n";
      return 1;
    }
    std::vector<double> values;
    nlohmann::json answer = nlohmann::json::array();
    for (const nlohmann::json &work : request.at("work"))
      answer.push_back(perform(request, work, values));
    std::ofstream(request.at("out").get<std::string>(), std::ios::binary)
        .write(reinterpret_cast<const char *>(values.data()), std::streamsize(values.size() * sizeof(double)));
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
