#include "runtime/host/Kernels.h"

#include "mpc/cpu.h"
#include "runtime/support/Error.h"

#include <algorithm>

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
  auto level = [](bool runs, const char *name) { return std::string(runs ? "" : name); };
  auto needed = sections.find("host.native.cpu");
  struct Candidate {
    const char *section;
    std::string lacked; // features that it needs and this CPU lacks
  };
  const Candidate candidates[] = {
      {"host.native.so", needed == sections.end() ? "" : lackedFeatures(needed->second)},
      {"host.x86-64-v4.so", level(__builtin_cpu_supports("x86-64-v4"), "x86-64-v4")},
      {"host.x86-64-v3.so", level(__builtin_cpu_supports("x86-64-v3"), "x86-64-v3")},
  };
  std::string present;
  for (const Candidate &candidate : candidates) {
    if (!sections.count(candidate.section))
      continue;
    if (candidate.lacked.empty())
      return candidate.section;
    present += concat(present.empty() ? "" : "; ", candidate.section, " needs ", candidate.lacked);
  }
  if (!present.empty())
    fail(where, concat("this CPU can run none of its kernels: ", present),
         "run it on a CPU that has that, or compile the model for this one: --cpu=native here, or "
         "--cpu=x86-64-v3");
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
