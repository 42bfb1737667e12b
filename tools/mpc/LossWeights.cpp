// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/LossWeights.h"
#include "runtime/core/data/Array.h"
#include "runtime/support/Error.h"
#include "runtime/support/Terminal.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace mpc::tool {

/// The number of classes is limited, because their weights become one text.
static constexpr int64_t kMostClasses = 1 << 24;

static std::string weightsText(const std::string &path) {
  rt::Array array = rt::readArrayFile(path, [&](mpc_dtype, const rt::Shape &shape) {
    if (shape.size() != 1 || shape[0] < 1 || shape[0] > kMostClasses)
      rt::fail(path, "holds an array of shape " + rt::toString(shape) + ", but weights are one row",
               "save one number for each class");
  });
  std::string text;
  for (int64_t i = 0; i < array.elements(); ++i) {
    char number[32];
    snprintf(number, sizeof number, "%.9g", rt::loadDouble(array.dtype, array.data, size_t(i)));
    text += (i == 0 ? "" : "/") + std::string(number);
  }
  return text;
}

bool expandLossWeights(std::string &text) {
  std::optional<rt::Error> error = rt::attempt([&] {
    for (llvm::StringRef key : {",weight=", ",pos_weight="})
      for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
        size_t begin = at + key.size(), end = std::min(text.find_first_of(",:", begin), text.size());
        std::string value = text.substr(begin, end - begin);
        if (llvm::StringRef(value).ends_with(".npy"))
          text.replace(begin, end - begin, weightsText(value));
      }
  });
  if (error)
    llvm::errs() << rt::withPaintedLabels(error->text(), 2);
  return !error;
}

} // namespace mpc::tool
