// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/devices/CudaDevice.h"

#include "runtime/devices/CudaCode.h"
#include "runtime/devices/CudaSnapshots.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

using namespace cuda;

/// Iterations that may be in flight: enough for a log line every 50 steps without a wait in between.
static constexpr size_t kAhead = 64;
static constexpr size_t kBounceBytes = 1 << 20;

static std::string computeText(int64_t compute) { return concat(compute / 10, ".", compute % 10); }

static int64_t sharedBytesOf(const Plan &plan) {
  int64_t bytes = 0;
  for (const GpuKernel &kernel : plan.kernels)
    bytes = std::max(bytes, kernel.sharedBytes);
  return bytes;
}

/// Says how to compile a program for a GPU that it has no plan for.
static std::string compileHint(const Manifest &manifest, const Gpu &gpu) {
  if (manifest.architectures.empty())
    return "compile the model with a GPU's --target";
  if (const Architecture *arch = manifest.architectureFor(gpu.compute))
    return concat("compile the model with --target=", arch->name);
  auto older = [](const Architecture &a, const Architecture &b) { return a.compute < b.compute; };
  int64_t oldest = std::min_element(manifest.architectures.begin(), manifest.architectures.end(), older)->compute;
  return concat("GPUs of compute capability ", computeText(oldest), " and newer are supported");
}

const Plan &choosePlan(const Program &program, const Gpu &gpu) {
  const Plan *best = nullptr;
  std::string known;
  for (const Plan &plan : program.manifest().plans) {
    if (!plan.gpu)
      continue;
    int64_t shared = sharedBytesOf(plan);
    known += concat(known.empty() ? "" : ", ", plan.target);
    if (shared > gpu.sharedBytes)
      known += concat(" (with ", shared, " bytes of shared memory a block; the GPU has ", gpu.sharedBytes, ")");
    else if (plan.gpu->runsOn(gpu.compute) && (!best || plan.gpu->isBetterThan(*best->gpu)))
      best = &plan;
  }
  if (best)
    return *best;
  fail(program.where(),
       known.empty() ? "has no plan for a GPU"
                     : concat("has no plan for the GPU '", gpu.name, "' of compute capability ",
                              computeText(gpu.compute), "; it has: ", known),
       compileHint(program.manifest(), gpu));
}

CudaDevice::CudaDevice(const Program &program, const Plan &plan, const Gpu &gpu, const DeviceOptions &options)
    : program_(program), plan_(plan), gpu_(gpu), note_(options.note), checkLaunches_(options.checkLaunches),
      launchSeconds_(options.launchSeconds), context_(gpu), cu_(context_.driver()) {
  context_.enter();
  compute_ = context_.stream();
  arena_ = context_.allocate(std::max<int64_t>(plan.arenaBytes, 1), "the program's memory");
  context_.check(cu_.memsetD8Async(arena_, 0, size_t(plan.arenaBytes), compute_));
  bounce_ = context_.allocatePinned(kBounceBytes);
  size_t bytes = 0, count = 0;
  for (const Entry &entry : plan.entries) {
    size_t all = 0;
    for (const Port &port : entry.inputs)
      all += InputFeed::aligned(size_t(port.bytes));
    bytes = std::max(bytes, all);
    count = std::max(count, entry.inputs.size());
  }
  feed_.emplace(context_, compute_, arena_, bytes, count);
}

std::string CudaDevice::description() const { return concat(gpu_.name, ", ", plan_.target); }

size_t CudaDevice::iterationsAhead() const { return kAhead; }

void CudaDevice::wait() const { context_.check(cu_.streamSynchronize(compute_)); }

void CudaDevice::write(int64_t offset, const void *bytes, size_t count) {
  context_.enter();
  feed_->deliver();
  Address to = arena_ + uint64_t(offset);
  // A hyperparameter is set, not copied: a memset needs no memory of ours that stays unchanged until it is copied.
  if (count == sizeof(uint32_t)) {
    uint32_t value;
    std::memcpy(&value, bytes, count);
    return context_.check(cu_.memsetD32Async(to, value, 1, compute_));
  }
  for (size_t done = 0; done < count; done += kBounceBytes) {
    size_t piece = std::min(count - done, kBounceBytes);
    std::memcpy(bounce_, static_cast<const std::byte *>(bytes) + done, piece);
    context_.check(cu_.memcpyHtoDAsync(to + done, bounce_, piece, compute_));
    wait();
  }
}

void CudaDevice::read(int64_t offset, void *bytes, size_t count) const {
  context_.enter();
  feed_->deliver();
  for (size_t done = 0; done < count; done += kBounceBytes) {
    size_t piece = std::min(count - done, kBounceBytes);
    context_.check(cu_.memcpyDtoHAsync(bounce_, arena_ + uint64_t(offset) + done, piece, compute_));
    wait();
    std::memcpy(static_cast<std::byte *>(bytes) + done, bounce_, piece);
  }
}

void CudaDevice::stage(int64_t offset, const void *bytes, size_t count) {
  context_.enter();
  feed_->stage(offset, bytes, count);
}

std::unique_ptr<Snapshots> CudaDevice::snapshots(std::vector<ArenaRange> ranges, size_t slots) {
  context_.enter();
  return std::make_unique<CudaSnapshots>(context_, compute_, arena_, ranges, slots);
}

//===-- Kernels --------------------------------------------------------------------------------===//

void CudaDevice::loadKernels() {
  CudaCode code(program_, plan_, gpu_, context_);
  std::vector<ModuleHandle> modules;
  for (const GpuModule &module : plan_.modules)
    modules.push_back(code.load(module));
  if (!code.refusal().empty() && note_)
    note_(concat("the driver compiles PTX of ", plan_.target,
                 ", because it refuses the program's machine code: ", code.refusal(), "; a newer driver may take it"));
  for (const GpuKernel &about : plan_.kernels) {
    FunctionHandle &function = functions_.emplace_back();
    cu_.check(cu_.moduleGetFunction(&function, modules[size_t(about.module)], about.symbol.c_str()),
              concat(program_.where(), " lacks kernel ", about.symbol, " of ", plan_.target),
              "compile the model again");
    // Asking for the attribute loads the kernel now; otherwise the driver would load it at the first launch.
    int threads = 0;
    cu_.check(cu_.funcGetAttribute(&threads, kMaxThreadsPerBlock, function),
              concat("cannot load kernel ", about.symbol));
    if (threads < about.threads)
      fail("cuda",
           concat("kernel ", about.symbol, " of ", plan_.target, " can have ", threads,
                  " threads a block here, it needs ", about.threads),
           "please report it with the model and the options");
    // The compiler leaves shared memory dynamic only where there is more of it than a kernel has without asking.
    if (about.sharedBytes > 0)
      cu_.check(cu_.funcSetAttribute(function, kMaxDynamicSharedBytes, int(about.sharedBytes)),
                concat("kernel ", about.symbol, " needs ", about.sharedBytes, " bytes of shared memory"));
  }
}

void CudaDevice::prepare() {
  context_.enter();
  loadKernels();
  if (checkLaunches_)
    return;
  for (const Entry &entry : plan_.entries)
    graphs_.push_back(entry.launches.empty() ? nullptr : context_.capture(compute_, [&] {
      for (const Launch &each : entry.launches)
        launch(each);
    }));
  wait();
}

/// Converts a tensor map to the driver's form. Drivers before CUDA 13.2 make faulty maps of tensors below 128 KiB for
/// Blackwell (release notes of driver 595.71.05, "Known Issues"), which CUTLASS repairs by clearing a bit that is
/// reserved on Hopper. Nothing is repaired here, because plans with tensor maps run on compute capability 9.0 alone.
static TensorMapBytes encode(const Driver &cu, const TensorMap &map, Address address) {
  if (!cu.tensorMapEncodeTiled || !cu.tensorMapEncodeIm2col)
    fail("cuda", "the NVIDIA driver is too old: it lacks tensor maps, which came with CUDA 12.0",
         "install a newer driver, or compile the model for an older --target too");
  int type = map.dtype == MPC_F16     ? kMapF16
             : map.dtype == MPC_BF16  ? kMapBF16
             : map.dtype == MPC_F32   ? kMapF32
             : map.dtype == MPC_F64   ? kMapF64
             : sizeOf(map.dtype) == 1 ? kMapU8
             : sizeOf(map.dtype) == 2 ? kMapU16
             : sizeOf(map.dtype) == 4 ? kMapU32
                                      : kMapU64;
  uint64_t sizes[5] = {}, strides[5] = {};
  unsigned box[5] = {}, steps[5] = {};
  int lower[3] = {}, upper[3] = {};
  std::copy(map.sizes.begin(), map.sizes.end(), sizes);
  std::copy(map.strides.begin(), map.strides.end(), strides);
  std::copy(map.box.begin(), map.box.end(), box);
  std::copy(map.steps.begin(), map.steps.end(), steps);
  std::copy(map.lower.begin(), map.lower.end(), lower);
  std::copy(map.upper.begin(), map.upper.end(), upper);
  int swizzle = map.swizzle == 0 ? 0 : map.swizzle == 32 ? 1 : map.swizzle == 64 ? 2 : 3;
  auto rank = unsigned(map.sizes.size());
  auto *to = reinterpret_cast<void *>(address);
  TensorMapBytes bytes;
  cu.check(map.pixels == 0 ? cu.tensorMapEncodeTiled(&bytes, type, rank, to, sizes, strides, box, steps, 0, swizzle,
                                                     kPromoteL2To256, 0)
                           : cu.tensorMapEncodeIm2col(&bytes, type, rank, to, sizes, strides, lower, upper, box[0],
                                                      unsigned(map.pixels), steps, 0, swizzle, kPromoteL2To256, 0),
           "cannot describe a tensor to the GPU", "please report it with the model and the options");
  return bytes;
}

size_t CudaDevice::kernelOf(const Launch &launch) const {
  size_t kernel = 0;
  while (plan_.kernels[kernel].symbol != launch.kernel)
    ++kernel;
  return kernel;
}

void CudaDevice::launch(const Launch &launch) const {
  size_t kernel = kernelOf(launch);
  const GpuKernel &about = plan_.kernels[kernel];
  std::vector<Address> arguments;
  for (int64_t offset : launch.args)
    arguments.push_back(arena_ + uint64_t(offset));
  std::vector<void *> parameters;
  for (Address &argument : arguments)
    parameters.push_back(&argument);
  std::vector<TensorMapBytes> maps; // the launch copies them, like the pointers
  for (const TensorMap &map : about.tensorMaps)
    maps.push_back(encode(cu_, map, arguments[size_t(map.arg)]));
  for (TensorMapBytes &map : maps)
    parameters.push_back(&map);
  cu_.check(cu_.launchKernel(functions_[kernel], unsigned(about.blocks(launch.grid[0], gpu_.multiprocessors)),
                             unsigned(launch.grid[1]), unsigned(launch.grid[2]), unsigned(about.threads), 1, 1,
                             unsigned(about.sharedBytes), compute_, parameters.data(), nullptr),
            concat("cannot launch ", describe(launch), ", kernel ", launch.kernel));
}

void CudaDevice::run(const Entry &entry, std::vector<double> *seconds) {
  context_.enter();
  feed_->deliver();
  if (seconds)
    runTimed(entry, *seconds);
  else if (checkLaunches_)
    runChecked(entry);
  else if (ExecutableHandle graph = graphs_[size_t(&entry - plan_.entries.data())])
    context_.check(cu_.graphLaunch(graph, compute_));
}

void CudaDevice::waitChecked(const Entry &entry, const Launch &launch) {
  Result result = context_.wait(compute_, launchSeconds_);
  if (result == kSuccess)
    return;
  const GpuKernel &about = plan_.kernels[kernelOf(launch)];
  std::string what = concat("launch ", describe(launch), ", kernel ", launch.kernel, ", grid ",
                            about.blocks(launch.grid[0], gpu_.multiprocessors), " x ", launch.grid[1], " x ",
                            launch.grid[2], " of ", about.threads, " threads, of entry '", entry.name, "'");
  if (result == kNotReady)
    fail("cuda", concat(what, ": has not ended after ", launchSeconds_, " s"),
         "run again with a larger --launch-timeout; if it does not end then either, please report it with the model, "
         "the options and what `compute-sanitizer --tool=synccheck` prints of this command");
  cu_.check(result, what, "please report it with the model and the options");
}

void CudaDevice::runChecked(const Entry &entry) {
  for (const Launch &each : entry.launches) {
    launch(each);
    waitChecked(entry, each);
  }
}

void CudaDevice::runObserved(const Entry &entry, LaunchObserver &observer) {
  context_.enter();
  feed_->deliver();
  for (const Launch &each : entry.launches) {
    observer.before(each);
    launch(each);
    if (checkLaunches_)
      waitChecked(entry, each);
    else
      wait();
    observer.after(each);
  }
}

template <typename Start>
void CudaDevice::addTimes(size_t count, double *seconds, Start start) {
  while (timers_.size() <= count)
    timers_.push_back(context_.event(kEventTimed));
  context_.check(cu_.eventRecord(timers_[0], compute_));
  for (size_t i = 0; i < count; ++i) {
    start(i);
    context_.check(cu_.eventRecord(timers_[i + 1], compute_));
  }
  wait();
  for (size_t i = 0; i < count; ++i) {
    float milliseconds = 0;
    context_.check(cu_.eventElapsedTime(&milliseconds, timers_[i], timers_[i + 1]));
    seconds[i] += double(milliseconds) * 1e-3;
  }
}

/// Measures one launch at a time, so these numbers do not show what a graph saves.
void CudaDevice::runTimed(const Entry &entry, std::vector<double> &seconds) {
  seconds.resize(entry.launches.size());
  addTimes(seconds.size(), seconds.data(), [&](size_t i) { launch(entry.launches[i]); });
}

std::vector<double> CudaDevice::time(const Entry &entry, size_t count) {
  context_.enter();
  ExecutableHandle graph = graphs_[size_t(&entry - plan_.entries.data())];
  std::vector<double> seconds(count);
  addTimes(count, seconds.data(), [&](size_t) { context_.check(cu_.graphLaunch(graph, compute_)); });
  return seconds;
}

} // namespace mpc::rt
