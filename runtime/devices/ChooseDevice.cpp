// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Device.h"

#include "runtime/devices/CudaCode.h"
#include "runtime/devices/CudaDevice.h"
#include "runtime/devices/EmulatorDevice.h"
#include "runtime/devices/HostDevice.h"
#include "runtime/support/Error.h"

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
    fail(program.where(), concat("has no plan for the host (it has: ", targetsOf(program), ")"),
         "compile the model with --target=host too");
  return {plan, std::make_unique<HostDevice>(program, *plan, options)};
}

static ChosenDevice chooseEmulator(const Program &program, const DeviceOptions &options) {
  const Plan &plan = chooseEmulatedPlan(program, options.arch);
  return {&plan, std::make_unique<EmulatorDevice>(program, plan, options)};
}

//===-- GPUs -----------------------------------------------------------------------------------===//

/// Returns the first plan for a GPU, or null.
static const Plan *gpuPlanOf(const Program &program) {
  for (const Plan &plan : program.manifest().plans)
    if (plan.gpu)
      return &plan;
  return nullptr;
}

struct CudaChoice {
  cuda::Gpu gpu;
  const Plan *plan;
};

/// Throws Error that says what is missing: a plan, the driver, a GPU, or a plan that fits it.
static CudaChoice findGpu(const Program &program) {
  if (!gpuPlanOf(program))
    fail(program.where(), concat("has no plan for a GPU (it has: ", targetsOf(program), ")"),
         "compile the model with a GPU's --target too");
  cuda::Gpu gpu = cuda::Driver::get().gpu();
  return {gpu, &choosePlan(program, gpu)};
}

static ChosenDevice chooseCuda(const Program &program, const DeviceOptions &options) {
  bool automatic = options.device == "auto", hasHost = program.manifest().plan(kHost);
  CudaChoice found;
  std::optional<Error> missing = attempt([&] { found = findGpu(program); });
  if (missing && automatic && hasHost) {
    if (options.note)
      options.note(concat("runs on the host: ", missing->what()));
    return chooseHost(program, options);
  }
  if (missing && hasHost)
    fail(missing->where(), missing->clause(), missing->hint() + ", or run with --device=host");
  if (missing) // there is a plan for a GPU, since there is none for the host
    fail(missing->where(), missing->clause(),
         concat(missing->hint(),
                program.has(kEmulatorSection)
                    ? ", run"
                    : concat(", or compile with --target=", gpuPlanOf(program)->target, ",emulator and run"),
                " slowly with --device=emulator, or compile with --target=host too"));
  auto device = std::make_unique<CudaDevice>(program, *found.plan, found.gpu, options);
  if (automatic && hasHost && options.note)
    options.note(concat("runs on the GPU: ", device->description()));
  return {found.plan, std::move(device)};
}

std::string describeGpu(const Program &program) {
  std::string text;
  attempt([&] {
    if (!gpuPlanOf(program))
      return;
    cuda::Gpu gpu = cuda::Driver::get().gpu();
    text = concat(gpu.name, ", compute capability ", gpu.compute / 10, ".", gpu.compute % 10, ", ",
                  bytesText(int64_t(gpu.bytes)), ", driver of CUDA ", cuda::versionText(gpu.driver));
    const Plan &plan = choosePlan(program, gpu);
    text += concat("; plan ", plan.target);
    text += concat(", ", describeCode(program, plan, gpu));
  });
  return text;
}

ChosenDevice chooseDevice(const Program &program, const DeviceOptions &options) {
  if (!options.arch.empty() && options.device != "emulator")
    fail("--arch", "is for the emulator", "give --device=emulator too, or leave it out");
  if (options.device == "emulator")
    return chooseEmulator(program, options);
  if (options.device == "cuda" || (options.device == "auto" && gpuPlanOf(program)))
    return chooseCuda(program, options);
  if (options.device == "host" || options.device == "auto")
    return chooseHost(program, options);
  fail("--device", concat("unknown device '", options.device, "'"), "use auto, cuda, host or emulator");
}

} // namespace mpc::rt
