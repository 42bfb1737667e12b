//===- TunerSection.cpp - the candidates of a tuner ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/TunerSection.h"
#include <nlohmann/json.hpp>

using namespace mpc;
using nlohmann::json;

std::string mpc::tunerSection(const std::map<std::string, std::vector<TunedProblem>> &problems) {
  json section = json::object();
  for (const auto &[target, own] : problems) {
    json &list = section[target] = json::array();
    for (const TunedProblem &problem : own) {
      json candidates = json::array();
      for (const TunedProblem::Candidate &candidate : problem.candidates)
        candidates.push_back({{"entry", candidate.entry},
                              {"schedule", candidate.schedule},
                              {"estimate_us", candidate.estimatedSeconds * 1e6}});
      list.push_back({{"problem", problem.problem},
                      {"dispatch", problem.dispatch},
                      {"flops", problem.flops},
                      {"roofline_us", problem.rooflineSeconds * 1e6},
                      {"candidates", std::move(candidates)}});
    }
  }
  return section.dump(-1, ' ', false, json::error_handler_t::replace);
}
