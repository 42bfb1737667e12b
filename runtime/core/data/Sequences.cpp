// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Dataset.h"
#include "runtime/core/data/Kinds.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::rt {

void Dataset::checkSequences(const Source &source, const Sequences &of) const {
  auto lengthOf = [&](const std::string &name, int64_t sample, int64_t most) {
    auto found = sources_.find(name);
    if (found == sources_.end() || sample >= found->second.array.elements())
      return most;
    const Array &array = found->second.array;
    return std::clamp<int64_t>(int64_t(loadDouble(array.dtype, array.data, size_t(sample))), 0, most);
  };
  std::vector<int64_t> row(size_t(source.sampleElements));
  for (int64_t sample = 0; sample < samples_; ++sample) {
    const mpc_dtype type = source.array.dtype;
    const size_t first = size_t(sample) * row.size();
    convert(type, source.array.data + first * sizeOf(type), MPC_I64, row.data(), row.size());
    int64_t length = lengthOf(of.lengths, sample, source.sampleElements), needed = length;
    for (size_t i = 0; i < size_t(length); ++i) {
      if (row[i] < 0 || row[i] >= of.classes || row[i] == of.blank)
        complain(source, first + i,
                 row[i] == of.blank ? concat("has label ", row[i], ", which is the blank")
                                    : concat("has label ", row[i], ", not in [0, ", of.classes, ")"),
                 "repair the data; blank=N of --loss says which class stands for no label");
      needed += i > 0 && row[i] == row[i - 1];
    }
    if (int64_t frames = lengthOf(of.inputLengths, sample, of.frames); needed > frames && !of.zeroInfinity)
      fail(source.where,
           concat("sample ", sample, " has ", length, " labels, which need ", needed, " frames, and has ", frames),
           "remove the sample, or compile with ,zero_infinity at the end of --loss: it then has no effect");
  }
}

} // namespace mpc::rt
