// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program that the runtime's tests train: logistic regression on samples x [N,3,2] with batch 4.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/core/Train.h"
#include "runtime/support/Error.h"

#include <string>

namespace mpc::rt::test {

/// Returns the manifest. Its variables are w [3,2] f32 (initial values 0.1 … 0.6 in logical order),
/// w/momentum, w/f16 (copy), main/lr, main/mu (hyper), main/scale (65536), main/tracker, main/skipped.
std::string logisticManifest();
/// Returns the manifest with the counter of random numbers as well: rng.step, which begins at 100. The kernels do not
/// advance it.
std::string countingManifest();
/// Returns the "data" section: the initial w.
std::string logisticData();
/// Returns the program with the kernels as C++ functions.
std::shared_ptr<const Program> logisticProgram(const std::string &manifest = logisticManifest());

/// Writes x [samples,3,2] f32 and target [samples] i64 (separable with some noise) and returns the path.
std::string writeLogisticData(const std::string &path, int64_t samples, uint64_t seed = 1);

/// A folder that is removed with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

std::string readFile(const std::string &path);
void writeFile(const std::string &path, std::string_view bytes);

/// Returns the Error that `work` throws, and fails the test when it throws none.
Error errorOf(const std::function<void()> &work);

} // namespace mpc::rt::test
