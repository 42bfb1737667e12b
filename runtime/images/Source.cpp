// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Source.h"

#include "runtime/support/Error.h"

namespace mpc::images {

using rt::concat;

std::string Source::path(const Sample &sample) const {
  const char *text = name(sample);
  return *text == '/' ? text : folder_ + text;
}

std::string Source::describe(int64_t index) const {
  const Sample &at = sample(index);
  return at.archive < 0 ? path(at) : concat(archive(at.archive).path, ": ", name(at));
}

std::string Source::stem(int64_t index) const {
  std::string_view text = name(sample(index));
  text.remove_prefix(text.rfind('/') + 1); // npos + 1 is 0
  return std::string(text.substr(0, text.rfind('.')));
}

void Source::add(std::string_view name, Sample sample) {
  sample.name = names_.size();
  names_.append(name);
  names_.push_back('\0');
  samples_.push_back(sample);
}

int32_t Source::addArchive(Archive archive) {
  archives_.push_back(std::move(archive));
  return int32_t(archives_.size() - 1);
}

void Source::renumber(const std::vector<int32_t> &labels) {
  for (Sample &sample : samples_)
    if (sample.label >= 0)
      sample.label = labels[size_t(sample.label)];
}

} // namespace mpc::images
