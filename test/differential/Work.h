//===- Work.h - what mpc-differential does with a model ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_DIFFERENTIAL_WORK_H
#define MPC_TEST_DIFFERENTIAL_WORK_H
#include <nlohmann/json.hpp>
#include <vector>

namespace mpc::test {

/// Does one item of a request's work (Main.cpp) and appends the tensors of its answer to `values`.
nlohmann::json perform(const nlohmann::json &request, const nlohmann::json &work, std::vector<double> &values);

} // namespace mpc::test
#endif
