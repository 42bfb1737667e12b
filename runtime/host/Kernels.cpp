// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Kernels.h"

#include "mpc/cpu.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <ranges>

namespace mpc::rt {

extern "C" void mpc_kernel_imports_anchor(); // keeps KernelImports.cpp in every program

/// Returns the features of `needed` (names of mpc/cpu.h, separated by spaces) that this CPU lacks, separated by ", ".
static std::string lackedFeatures(std::string_view needed) {
#define MPC_FEATURE(NAME) {NAME, bool(__builtin_cpu_supports(NAME))},
  const std::pair<std::string_view, bool> features[] = {MPC_CPU_FEATURES(MPC_FEATURE)};
#undef MPC_FEATURE
  std::string lacked;
  while (!needed.empty()) {
    size_t length = std::min(needed.find(' '), needed.size());
    std::string_view name = needed.substr(0, length);
    needed.remove_prefix(std::min(length + 1, needed.size()));
    bool has = false;
    for (const auto &[known, runs] : features)
      has |= known == name && runs;
    if (!has)
      lacked += concat(lacked.empty() ? "" : ", ", name);
  }
  return lacked;
}

std::string bestKernelObject(const std::map<std::string, std::string_view> &sections, const std::string &where) {
  struct Candidate {
    const char *cpu, *section;
    std::string lacked; // what it needs and this CPU lacks
  };
  auto needed = sections.find("host." MPC_CPU_NATIVE ".cpu");
  std::string features = needed == sections.end() ? "" : lackedFeatures(needed->second);
  // The best come last.
#define MPC_LEVEL(LEVEL, NAME) Candidate{NAME, "host." NAME ".so", __builtin_cpu_supports(NAME) ? "" : NAME},
  const Candidate candidates[] = {MPC_CPU_LEVELS(MPC_LEVEL)
                                      Candidate{MPC_CPU_NATIVE, "host." MPC_CPU_NATIVE ".so", features}};
#undef MPC_LEVEL
  std::string present;
  for (const Candidate &candidate : std::views::reverse(candidates)) {
    if (!sections.count(candidate.section))
      continue;
    if (candidate.lacked.empty())
      return candidate.section;
    present += concat(present.empty() ? "" : "; ", candidate.section, " needs ", candidate.lacked);
  }
  if (!present.empty())
    fail(where, concat("this CPU can run none of its kernels: ", present),
         concat("run it on a CPU that has that, or compile the model for this one: --cpu=" MPC_CPU_NATIVE
                " here, or --cpu=",
                candidates[0].cpu));
  return "";
}

void Kernels::load(std::string_view object, const std::string &where) {
  mpc_kernel_imports_anchor();
  where_ = where;
  object_.emplace(object, where);
}

mpc_kernel_fn Kernels::find(const std::string &symbol) const {
  if (auto it = table_.find(symbol); it != table_.end())
    return it->second;
  void *address = object_ ? object_->symbol(symbol) : nullptr;
  if (!address)
    fail(where_, concat("has no kernel '", symbol, "'"), "compile the model again");
  return reinterpret_cast<mpc_kernel_fn>(address);
}

} // namespace mpc::rt
