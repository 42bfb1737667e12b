#include "runtime/core/Device.h"

#include "runtime/devices/EmulatorDevice.h"
#include "runtime/devices/HostDevice.h"
#include "runtime/support/Error.h"

#include <cstdlib>

namespace mpc::rt {

static constexpr char kHost[] = "host";

static std::string targetsOf(const Program &program) {
  std::string known;
  for (const Plan &plan : program.manifest().plans)
    known += (known.empty() ? "" : ", ") + plan.target;
  return known;
}

static ChosenDevice chooseHost(const Program &program, const DeviceOptions &options) {
  const Plan *plan = program.manifest().plan(kHost);
  if (!plan)
    fail(program.where(), concat("has no plan for the host (it has: ", targetsOf(program), ")"), "compile the model with --target=host too");
  return {plan, std::make_unique<HostDevice>(program, *plan, options)};
}

/// 90 for "sm_90a".
static int computeOf(const std::string &target) { return target.starts_with("sm_") ? std::atoi(target.c_str() + 3) : 0; }

static ChosenDevice chooseEmulator(const Program &program, const DeviceOptions &options) {
  const Plan *chosen = nullptr;
  std::string emulated;
  for (const Plan &plan : program.manifest().plans) {
    if (!program.has(emulatorSection(plan.target)))
      continue;
    emulated += (emulated.empty() ? "" : ", ") + plan.target;
    if (options.arch.empty() ? !chosen || computeOf(plan.target) > computeOf(chosen->target) : plan.target == options.arch)
      chosen = &plan;
  }
  if (!chosen)
    fail(program.where(), emulated.empty() ? "carries no emulator" : concat("has no emulated kernels for '", options.arch, "' (it has: ", emulated, ")"),
         concat("compile the model with --target=", options.arch.empty() ? "sm_80" : options.arch, ",emulator"));
  return {chosen, std::make_unique<EmulatorDevice>(program, *chosen, options)};
}

ChosenDevice chooseDevice(const Program &program, const DeviceOptions &options) {
  if (!options.arch.empty() && options.device != "emulator")
    fail("--arch", "is for the emulator", "give --device=emulator too, or leave it out");
  if (options.device == "emulator")
    return chooseEmulator(program, options);
  if (options.device == "host" || options.device == "auto")
    return chooseHost(program, options);
  fail("--device", concat("unknown device '", options.device, "'"), "use auto, host or emulator");
}

} // namespace mpc::rt
