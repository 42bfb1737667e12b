// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/Driver.h"

#include "runtime/cuda/DriverLibrary.h"
#include "runtime/support/Error.h"

#include <cstring>
#include <dlfcn.h>

namespace mpc::rt::cuda {

static constexpr int kOldestDriver = 11040; // needed for cuGraphInstantiateWithFlags
static constexpr char kWhere[] = "cuda";

std::string versionText(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

int cudaOfPtx(int ptxVersion) {
  // PTX ISA, table "PTX Release History": 6.3 came with CUDA 10.0, 7.0 with 11.0, 8.0 with 12.0; the minor numbers
  // increase together. (For PTX 8.6 and later, which no code here uses, the result is one minor version too low.)
  if (ptxVersion < 70)
    return 10000 + (ptxVersion - 63) * 10;
  return (ptxVersion / 10 + 4) * 1000 + ptxVersion % 10 * 10;
}

const Driver &Driver::get() {
  static const Driver driver; // after a failed construction the next call tries again
  return driver;
}

Driver::Driver() : Functions() {
  // The library is never closed, because the driver keeps threads and exit handlers.
  void *library = openDriverLibrary();
#define MPC_CUDA_SYMBOL(name, symbol, parameters) #symbol "\0"
  static constexpr char symbols[] = MPC_CUDA_FUNCTIONS(MPC_CUDA_SYMBOL) MPC_CUDA_OPTIONAL_FUNCTIONS(MPC_CUDA_SYMBOL);
#undef MPC_CUDA_SYMBOL
  const char *missing = nullptr, *symbol = symbols;
  for (size_t at = 0; at < sizeof(Functions); at += sizeof(void *), symbol += std::strlen(symbol) + 1) {
    void *function = dlsym(library, symbol);
    std::memcpy(reinterpret_cast<char *>(static_cast<Functions *>(this)) + at, &function, sizeof function);
    if (!function && at < offsetof(Functions, tensorMapEncodeTiled))
      missing = symbol;
  }
  int version = 0;
  if (driverGetVersion)
    driverGetVersion(&version);
  if (missing || version < kOldestDriver)
    fail(kWhere,
         concat("the NVIDIA driver is too old: it is of CUDA ", versionText(version),
                missing ? concat(" and lacks ", missing) : "", "; programs need ", versionText(kOldestDriver)),
         "install a newer driver");
  Result result = init(0);
  if (result == kNoDevice)
    fail(kWhere, "there is a driver, but no GPU that it knows", "check nvidia-smi and CUDA_VISIBLE_DEVICES");
  check(result, "the driver does not start", "check nvidia-smi");
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != kSuccess || getErrorString(result, &text) != kSuccess || !name || !text)
    return concat("error ", result);
  return concat(name, ": ", text);
}

void Driver::failed(Result result, std::string_view action, std::string_view hint) const {
  fail(kWhere, concat(action, ": ", describe(result)), std::string(hint));
}

Gpu Driver::gpu() const {
  Gpu gpu;
  int count = 0, major = 0, minor = 0, shared = 0;
  char name[256] = "";
  check(deviceGetCount(&count), "cannot count the GPUs");
  if (count == 0)
    fail(kWhere, "there is a driver, but no GPU that it knows", "check nvidia-smi and CUDA_VISIBLE_DEVICES");
  Result results[] = {deviceGet(&gpu.device, 0),
                      deviceGetName(name, sizeof name, gpu.device),
                      deviceTotalMem(&gpu.bytes, gpu.device),
                      deviceGetAttribute(&major, kComputeMajor, gpu.device),
                      deviceGetAttribute(&minor, kComputeMinor, gpu.device),
                      deviceGetAttribute(&shared, kMaxSharedBytesPerBlock, gpu.device),
                      deviceGetAttribute(&gpu.multiprocessors, kMultiprocessors, gpu.device),
                      driverGetVersion(&gpu.driver)};
  for (Result result : results)
    check(result, "cannot ask what the GPU is");
  gpu.name = name;
  gpu.compute = major * 10 + minor;
  gpu.sharedBytes = shared;
  return gpu;
}

} // namespace mpc::rt::cuda
