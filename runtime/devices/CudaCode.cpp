// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/devices/CudaCode.h"

#include "runtime/devices/CudaDevice.h"
#include "runtime/support/Error.h"

#include <cstdio>

namespace mpc::rt {

using namespace cuda;

/// Returns 78 for PTX of version 7.8; 0 for text that is not PTX.
static int ptxVersionOf(const std::string &ptx) {
  size_t at = ptx.find(".version ");
  int major = 0, minor = 0;
  return at != ptx.npos && std::sscanf(ptx.c_str() + at, ".version %d.%d", &major, &minor) == 2 ? major * 10 + minor
                                                                                                : 0;
}

CudaCode::CudaCode(const Program &program, const Plan &plan, const Gpu &gpu, Context &context)
    : program_(program), plan_(plan), gpu_(gpu), context_(context) {}

ModuleHandle CudaCode::loadMachineCode(const GpuModule &module) {
  // Machine code runs on the GPU that it was made for and on newer ones of the same generation.
  if (module.cubin.empty() || plan_.gpu->compute / 10 != gpu_.compute / 10)
    return nullptr;
  ModuleHandle handle = nullptr;
  std::string log;
  Result result = context_.load(program_.section(module.cubin).data(), handle, log);
  if (result == kSuccess)
    return handle;
  if (refusal_.empty())
    refusal_ = concat(context_.driver().describe(result), log.empty() ? "" : "; it says: ", log);
  return nullptr;
}

ModuleHandle CudaCode::loadPtx(const GpuModule &module) {
  ModuleHandle handle = nullptr;
  std::string log;
  std::string ptx(program_.section(module.ptx)); // the driver needs a 0 at its end
  Result result = context_.load(ptx.c_str(), handle, log);
  if (result == kUnsupportedPtxVersion) {
    int version = ptxVersionOf(ptx);
    fail("cuda",
         concat("the NVIDIA driver is too old: it is of CUDA ", versionText(gpu_.driver), ", and PTX ", version / 10,
                ".", version % 10, " of ", plan_.target, " needs ", versionText(cudaOfPtx(version))),
         "install a newer driver, or compile the model for an older --target too");
  }
  // The driver's compiler is a library of its own, which containers may lack.
  if (result == kNoPtxCompiler)
    fail("cuda", concat("the driver cannot compile PTX of ", plan_.target, ": ", context_.driver().describe(result)),
         "put the folder of libnvidia-ptxjitcompiler.so.1, a part of the driver, into LD_LIBRARY_PATH, or compile the "
         "model where ptxas is");
  if (result != kSuccess)
    fail(concat(program_.where(), ": ", module.ptx),
         concat("the driver cannot load the kernels: ", context_.driver().describe(result),
                log.empty() ? "" : "; it says: ", log),
         "please report it with the model and the options");
  return handle;
}

ModuleHandle CudaCode::load(const GpuModule &module) {
  ModuleHandle handle = loadMachineCode(module);
  return handle ? handle : loadPtx(module);
}

std::string describeCode(const Program &program, const Plan &plan, const Gpu &gpu) {
  Context context(gpu);
  context.enter();
  CudaCode code(program, plan, gpu, context);
  bool all = true;
  for (const GpuModule &module : plan.modules)
    all = code.loadMachineCode(module) && all;
  if (all)
    return "machine code";
  return concat("PTX that the driver compiles, because ",
                code.refusal().empty() ? "the program has no machine code for this GPU"
                                       : concat("it refuses the machine code: ", code.refusal()));
}

} // namespace mpc::rt
