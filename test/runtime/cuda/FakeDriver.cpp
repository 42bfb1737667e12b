// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This is libcuda.so.1 for machines without a GPU. It has the functions of the driver that the runtime uses,
// implemented on FakeGpu; kernels run on the emulator. README.md explains the environment variables MPC_FAKE_CUDA_*.

#include "FakeGpu.h"
#include "mpc/emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace mpc::rt::cuda;
using namespace mpc::rt::cuda::fake;

namespace {

const char *setting(const char *name, const char *standard) {
  const char *value = std::getenv((std::string("MPC_FAKE_CUDA_") + name).c_str());
  return value ? value : standard;
}
long number(const char *name, long standard) { return std::atol(setting(name, std::to_string(standard).c_str())); }
/// Returns whether `MPC_FAKE_CUDA_FAIL` asks for this fault.
bool fails(const char *fault) { return std::strcmp(setting("FAIL", ""), fault) == 0; }

struct Error {
  Result result;
  const char *name, *text;
} const errors[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}};

struct Module {
  std::string image;
  bool ptx;
};
struct Function {
  std::string name;
  uint32_t threads = 0, buffers = 0;
  std::vector<std::string> maps =
      {}; // the tensor maps that the kernel expects, as the emulator's description writes them
  int sharedLimit = 48 << 10;
};

/// The driver's state in one process.
struct Driver {
  Gpu gpu;
  bool started = false;
  int retained = 0;
  Result sticky = kSuccess; // after a fault, every later call fails with it
  long executed = 0;        // number of kernels
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<Module *> modules;
  std::set<Graph *> graphs, executables;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::pair<uint64_t, std::string>> maps; // address and description of each encoded map
  std::map<std::string, long> calls;

  const mpc_emulator *plugin = nullptr;
  void *object = nullptr, *emulator = nullptr;

  Driver() { gpu.eager = *setting("EAGER", ""); }
  ~Driver() {
    if (!started)
      return;
    if (gpu.hung)
      misuse("the process ends through exit handlers, which wait for a kernel that never ends");
    if (const char *path = setting("CALLS", ""); *path)
      for (std::ofstream file(path); const auto &[name, count] : calls)
        file << name << " " << count << "\n";
    if (!streams.empty() || !events.empty() || !modules.empty() || !graphs.empty() || !executables.empty() || retained)
      misuse("at exit there are %zu streams, %zu events, %zu modules, %zu graphs, %zu executable graphs, the "
             "context %d times",
             streams.size(), events.size(), modules.size(), graphs.size(), executables.size(), retained);
    gpu.checkLeaks();
  }

  void openEmulator() {
    if (plugin)
      return;
    const char *path = setting("EMULATOR", "");
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    auto entry = library ? reinterpret_cast<const mpc_emulator *(*)()>(dlsym(library, "mpc_emulator_plugin")) : nullptr;
    if (!entry)
      misuse("MPC_FAKE_CUDA_EMULATOR: %s", dlerror());
    plugin = entry();
    const char *kernels = setting("OBJECT", "");
    object = dlopen(kernels, RTLD_NOW);
    if (!object)
      misuse("MPC_FAKE_CUDA_OBJECT: %s", dlerror());
    std::ifstream file(kernels, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    std::string content = bytes.str();
    emulator = plugin->open(content.data(), content.size(), "fake driver", 0, 0);
    if (!emulator)
      misuse("%s", plugin->error(1));
  }
} driver;
thread_local bool current = false; // whether this thread has the context

/// Begins every call that works with the context.
Result enter(const char *call) {
  ++driver.calls[call];
  if (driver.gpu.hung && std::strcmp(call, "cuStreamQuery") != 0)
    misuse("%s may wait for a kernel that never ends", call);
  return !current ? 201 : driver.sticky;
}
#define ENTER                                                                                                          \
  if (Result failed = enter(__func__))                                                                                 \
  return failed

template <typename Object, typename Handle>
Object &known(std::set<Object *> &all, Handle handle, const char *what) {
  auto object = reinterpret_cast<Object *>(handle);
  if (!all.count(object))
    misuse("a %s that is none, or no longer one", what);
  return *object;
}
template <typename Object, typename Handle>
void destroy(std::set<Object *> &all, Handle handle, const char *what) {
  Object *object = &known(all, handle, what);
  all.erase(object);
  if constexpr (!std::is_same_v<Object, Stream>) // streams stay, because the history of memory refers to them
    delete object;
}
template <typename Object, typename Handle>
Result create(std::set<Object *> &all, Handle *handle, Object *object) {
  all.insert(object);
  *handle = reinterpret_cast<Handle>(object);
  return kSuccess;
}
Stream &streamOf(StreamHandle handle) { return known(driver.streams, handle, "stream"); }

uint64_t sumOf(const void *bytes, size_t count) {
  uint64_t sum = 14695981039346656037ull; // the FNV-1a hash
  for (size_t i = 0; i < count; ++i)
    sum = (sum ^ static_cast<const unsigned char *>(bytes)[i]) * 1099511628211ull;
  return sum;
}

void copy(const char *name, uint64_t to, uint64_t from, size_t count, bool toHost, bool fromHost, StreamHandle handle) {
  Stream &stream = streamOf(handle);
  if (stream.capture)
    misuse("%s while its stream is captured", name);
  driver.gpu.endOf(to, count, toHost, name);
  driver.gpu.endOf(from, count, fromHost, name);
  constexpr int poison = 0xA5;
  uint64_t sum = fromHost ? sumOf(reinterpret_cast<void *>(from), count) : 0;
  if (toHost) { // a process that reads too early sees this
    std::memset(reinterpret_cast<void *>(to), poison, count);
    sum = sumOf(reinterpret_cast<void *>(to), count);
  }
  driver.gpu.enqueue(stream, name, {{to, count, true}, {from, count, false}}, [=] {
    if ((toHost || fromHost) && sumOf(reinterpret_cast<void *>(toHost ? to : from), count) != sum)
      misuse("%s: the process changed its memory before the copy was awaited", name);
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), count);
  });
}

/// Runs a kernel on behalf of the GPU. The calls that follow report a fault.
void runKernel(const Function &function, const uint32_t (&grid)[3], const std::vector<uint64_t> &arguments) {
  const char *fault = setting("FAIL", "");
  bool stops = std::strncmp(fault, "launch:", 7) == 0, hangs = std::strncmp(fault, "hang:", 5) == 0;
  if ((stops || hangs) && ++driver.executed == std::atol(std::strchr(fault, ':') + 1)) {
    driver.sticky = stops ? 700 : kSuccess;
    driver.gpu.stopped = stops;
    driver.gpu.hung = hangs;
    return;
  }
  std::vector<mpc_emu_buffer> buffers;
  for (uint64_t argument : arguments)
    buffers.push_back(
        {reinterpret_cast<void *>(argument), driver.gpu.endOf(argument, 1, false, "a kernel") - argument, true});
  if (driver.plugin->launch(driver.emulator, function.name.c_str(), grid, buffers.data(), uint32_t(buffers.size()),
                            "fake driver"))
    misuse("the emulator: %s: %s", driver.plugin->error(0), driver.plugin->error(1));
}

constexpr uint64_t kMapMagic = 0x70616d726f736e65;

#ifndef MPC_FAKE_WITHOUT_TENSOR_MAPS
/// Writes a map as the emulator's descriptions do (mpc/emulator.h), without the number of the buffer. Returns
/// an error for what the driver refuses (see the parameters of cuTensorMapEncodeTiled and ...Im2col).
Result encodeMap(TensorMapBytes *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                 const uint64_t *strides, const unsigned *box, unsigned boxes, const unsigned *steps, int swizzle,
                 unsigned pixels, const int *lower, const int *upper) {
  constexpr int bytesOf[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if (uint64_t(map) % 64 || uint64_t(address) % 16 || rank < (pixels ? 3 : 1) || rank > 5 || type > kMapBF16)
    return 1;
  std::ostringstream text;
  text << bytesOf[type] << ' ' << swizzle << ' ' << pixels << ' ' << rank;
  auto list = [&](auto *numbers, unsigned count, auto low, auto high, unsigned multiple) {
    bool good = true;
    for (unsigned i = 0; i < count; ++i) {
      text << ' ' << numbers[i];
      good &= numbers[i] >= low && numbers[i] <= high && uint64_t(numbers[i]) % multiple == 0;
    }
    return good;
  };
  bool good = list(sizes, rank, uint64_t(1), uint64_t(1) << 32, 1) &&
              list(strides, rank - 1, uint64_t(16), uint64_t(1) << 40, 16) && list(box, boxes, 1u, 256u, 1) &&
              list(steps, rank, 1u, 8u, 1);
  if (pixels)
    good = good && pixels <= 1024 && list(lower, rank - 2, -32768, 32767, 1) && list(upper, rank - 2, -32768, 32767, 1);
  unsigned row = box[0] * unsigned(bytesOf[type]);
  if (!good || row % 16 || (swizzle && row > (16u << swizzle)))
    return 1;
  uint64_t words[] = {kMapMagic, driver.maps.size()};
  driver.maps.push_back({uint64_t(address), text.str()});
  std::memset(map, 0xA5, sizeof *map);
  std::memcpy(map, words, sizeof words);
  return kSuccess;
}

#endif

/// `wanted` has the form "BUFFER ...".
void checkMap(const Function &function, const std::string &wanted, const void *parameter,
              const std::vector<uint64_t> &arguments) {
  uint64_t words[2];
  std::memcpy(words, parameter, sizeof words);
  if (uint64_t(parameter) % 64 || words[0] != kMapMagic || words[1] >= driver.maps.size())
    misuse("kernel %s gets no tensor map where it takes one", function.name.c_str());
  const auto &[address, text] = driver.maps[words[1]];
  size_t rest = 0;
  size_t buffer = std::stoul(wanted, &rest);
  if (buffer >= arguments.size() || arguments[buffer] != address || wanted.substr(rest + 1) != text)
    misuse("kernel %s gets the tensor map '%s' of another tensor than its '%s'", function.name.c_str(), text.c_str(),
           wanted.c_str());
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

EXPORT cuInit(unsigned) {
  driver.started = true;
  return fails("no-device") ? kNoDevice : kSuccess;
}
EXPORT cuDriverGetVersion(int *version) {
  *version = int(number("VERSION", 13000));
  return kSuccess;
}
EXPORT cuGetErrorName(Result result, const char **text) {
  for (const Error &error : errors)
    if (error.result == result)
      return *text = error.name, kSuccess;
  return 1;
}
EXPORT cuGetErrorString(Result result, const char **text) {
  for (const Error &error : errors)
    if (error.result == result)
      return *text = error.text, kSuccess;
  return 1;
}

//===-- The device and its context -------------------------------------------------------------===//

EXPORT cuDeviceGetCount(int *count) { return *count = 1, kSuccess; }
EXPORT cuDeviceGet(int *device, int) { return *device = 0, kSuccess; }
EXPORT cuDeviceGetName(char *name, int bytes, int) { return std::snprintf(name, size_t(bytes), "Fake GPU"), kSuccess; }
EXPORT cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = size_t(number("MEMORY", 1 << 30)), kSuccess; }
EXPORT cuDeviceGetAttribute(int *value, int attribute, int) {
  int compute = int(number("COMPUTE", 80));
  *value = attribute == kComputeMajor             ? compute / 10
           : attribute == kComputeMinor           ? compute % 10
           : attribute == kMaxSharedBytesPerBlock ? int(number("SHARED", 163 << 10))
           : attribute == kMultiprocessors        ? int(number("MULTIPROCESSORS", 108))
                                                  : -1;
  return *value < 0;
}
EXPORT cuDevicePrimaryCtxRetain(ContextHandle *context, int) {
  ++driver.retained;
  *context = reinterpret_cast<ContextHandle>(&driver);
  return kSuccess;
}
EXPORT cuDevicePrimaryCtxRelease_v2(int) {
  if (--driver.retained < 0)
    misuse("the context is released more often than it was retained");
  return kSuccess;
}
EXPORT cuCtxSetCurrent(ContextHandle context) {
  if (context && !driver.retained)
    misuse("the context is used after its release");
  current = context;
  return kSuccess;
}

//===-- Memory ---------------------------------------------------------------------------------===//

EXPORT cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER;
  cuDeviceTotalMem_v2(total, 0);
  *free = *total - driver.gpu.used();
  return kSuccess;
}
EXPORT cuMemAlloc_v2(Address *address, size_t bytes) {
  ENTER;
  size_t free = 0, total = 0;
  cuMemGetInfo_v2(&free, &total);
  if (bytes == 0 || bytes > free)
    return bytes == 0 ? 1 : kOutOfMemory;
  return *address = driver.gpu.allocate(bytes, false), kSuccess;
}
EXPORT cuMemAllocHost_v2(void **address, size_t bytes) {
  ENTER;
  return *address = reinterpret_cast<void *>(driver.gpu.allocate(bytes, true)), kSuccess;
}
EXPORT cuMemFree_v2(Address address) { return driver.gpu.release(address, false), driver.sticky; }
EXPORT cuMemFreeHost(void *address) { return driver.gpu.release(uint64_t(address), true), driver.sticky; }
EXPORT cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t count, StreamHandle stream) {
  ENTER;
  return copy("cuMemcpyHtoDAsync", to, uint64_t(from), count, false, true, stream), kSuccess;
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, Address from, size_t count, StreamHandle stream) {
  ENTER;
  return copy("cuMemcpyDtoHAsync", uint64_t(to), from, count, true, false, stream), kSuccess;
}
EXPORT cuMemcpyDtoDAsync_v2(Address to, Address from, size_t count, StreamHandle stream) {
  ENTER;
  return copy("cuMemcpyDtoDAsync", to, from, count, false, false, stream), kSuccess;
}
EXPORT cuMemsetD8Async(Address to, unsigned char value, size_t count, StreamHandle stream) {
  ENTER;
  driver.gpu.endOf(to, count, false, "cuMemsetD8Async");
  driver.gpu.enqueue(streamOf(stream), "cuMemsetD8Async", {{to, count, true}},
                     [=] { std::memset(reinterpret_cast<void *>(to), value, count); });
  return kSuccess;
}
EXPORT cuMemsetD32Async(Address to, unsigned value, size_t count, StreamHandle stream) {
  ENTER;
  driver.gpu.endOf(to, count * 4, false, "cuMemsetD32Async");
  if (to % 4)
    return 1;
  driver.gpu.enqueue(streamOf(stream), "cuMemsetD32Async", {{to, count * 4, true}}, [=] {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(reinterpret_cast<char *>(to) + 4 * i, &value, 4);
  });
  return kSuccess;
}

//===-- Streams and events ---------------------------------------------------------------------===//

EXPORT cuStreamCreate(StreamHandle *stream, unsigned) {
  ENTER;
  return create(driver.streams, stream, new Stream);
}
EXPORT cuStreamDestroy_v2(StreamHandle stream) {
  if (!streamOf(stream).queue.empty() && !driver.sticky)
    misuse("a stream is destroyed with work on it");
  return destroy(driver.streams, stream, "stream"), driver.sticky;
}
EXPORT cuStreamSynchronize(StreamHandle handle) {
  ENTER;
  Stream &stream = streamOf(handle);
  driver.gpu.synchronize(stream, stream.issued, stream.clock);
  return driver.sticky;
}
EXPORT cuStreamQuery(StreamHandle stream) {
  ENTER;
  return driver.gpu.query(streamOf(stream)) ? driver.sticky : kNotReady;
}
EXPORT cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  ENTER;
  return driver.gpu.wait(streamOf(stream), known(driver.events, event, "event")), kSuccess;
}
EXPORT cuEventCreate(EventHandle *event, unsigned flags) {
  ENTER;
  auto *made = new Event;
  made->timed = !(flags & kEventUntimed);
  return create(driver.events, event, made);
}
EXPORT cuEventDestroy_v2(EventHandle event) { return destroy(driver.events, event, "event"), driver.sticky; }
EXPORT cuEventRecord(EventHandle event, StreamHandle stream) {
  ENTER;
  return driver.gpu.record(known(driver.events, event, "event"), streamOf(stream)), kSuccess;
}
EXPORT cuEventSynchronize(EventHandle handle) {
  ENTER;
  Event &event = known(driver.events, handle, "event");
  if (event.stream)
    driver.gpu.synchronize(*event.stream, event.index, event.clock);
  return driver.sticky;
}
EXPORT cuEventElapsedTime(float *milliseconds, EventHandle startHandle, EventHandle endHandle) {
  ENTER;
  Event &start = known(driver.events, startHandle, "event"), &end = known(driver.events, endHandle, "event");
  if (!start.timed || !end.timed || !start.stream || !end.stream)
    misuse("the time between events that keep none, or were not recorded");
  if (start.stream->done < start.index || end.stream->done < end.index)
    return 600; // CUDA_ERROR_NOT_READY
  return *milliseconds = float(end.milliseconds - start.milliseconds), kSuccess;
}

//===-- Modules and kernels --------------------------------------------------------------------===//

EXPORT cuModuleLoadDataEx(ModuleHandle *handle, const void *image, unsigned count, int *options, void **values) {
  ENTER;
  auto *bytes = static_cast<const char *>(image);
  auto say = [&](const char *text) {
    char *log = nullptr;
    size_t room = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kErrorLog)
        log = static_cast<char *>(values[i]);
      if (options[i] == kErrorLogBytes)
        room = reinterpret_cast<size_t>(values[i]);
    }
    if (log)
      std::snprintf(log, room, "%s", text);
  };
  if (std::memcmp(bytes, "\177ELF", 4) == 0) {
    uint16_t machine, sections, size;
    uint64_t table;
    std::memcpy(&machine, bytes + 18, 2);
    std::memcpy(&table, bytes + 40, 8);
    std::memcpy(&size, bytes + 58, 2);
    std::memcpy(&sections, bytes + 60, 2);
    if (machine != 190 || fails("cubin")) // EM_CUDA
      return 200;
    return create(driver.modules, handle, new Module{std::string(bytes, table + uint64_t(size) * sections), false});
  }
  if (fails("compiler"))
    return kNoPtxCompiler;
  std::string ptx = bytes; // ends at its NUL
  size_t version = ptx.find(".version "), target = ptx.find(".target sm_");
  int major = 0, minor = 0;
  if (version == ptx.npos || target == ptx.npos ||
      std::sscanf(ptx.c_str() + version, ".version %d.%d", &major, &minor) != 2 || fails("jit")) {
    say("ptxas application ptx input, line 7; fatal : Unexpected instruction\nptxas fatal : Ptx assembly "
        "aborted due to errors");
    return 218;
  }
  // PTX 7.0 came with CUDA 11.0 and PTX 8.0 with CUDA 12.0.
  if (major >= 7 && (major + 4) * 1000 + minor * 10 > number("VERSION", 13000))
    return kUnsupportedPtxVersion;
  char *end = nullptr;
  long compute = std::strtol(ptx.c_str() + target + 11, &end, 10), own = number("COMPUTE", 80);
  if (*end == 'a' ? compute != own : compute > own)
    misuse("PTX for sm_%ld%s on a GPU of compute capability %ld", compute, *end == 'a' ? "a" : "", own);
  return create(driver.modules, handle, new Module{std::move(ptx), true});
}
EXPORT cuModuleUnload(ModuleHandle module) { return destroy(driver.modules, module, "module"), driver.sticky; }

EXPORT cuModuleGetFunction(FunctionHandle *function, ModuleHandle handle, const char *name) {
  ENTER;
  const Module &module = known(driver.modules, handle, "module");
  std::string entry = module.ptx ? std::string(".entry ") + name + "(" : std::string(".text.") + name + '\0';
  if (module.image.find(entry) == std::string::npos)
    return 500;
  driver.openEmulator();
  auto *about = static_cast<const char *>(dlsym(driver.object, (std::string(name) + ".about").c_str()));
  auto made = std::make_unique<Function>(Function{name});
  const char *threads = about ? std::strstr(about, "threads ") : nullptr,
             *buffers = about ? std::strstr(about, "buffers ") : nullptr;
  if (!threads || !buffers)
    misuse("the emulated kernels lack '%s'", name);
  made->threads = uint32_t(std::atoi(threads + 8));
  made->buffers = uint32_t(std::atoi(buffers + 8));
  std::istringstream lines(about);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("map "))
      made->maps.push_back(line.substr(4));
  *function = reinterpret_cast<FunctionHandle>(made.get());
  driver.functions.push_back(std::move(made));
  return kSuccess;
}
EXPORT cuFuncGetAttribute(int *value, int attribute, FunctionHandle function) {
  ENTER;
  return *value = int(reinterpret_cast<Function *>(function)->threads), attribute != kMaxThreadsPerBlock;
}
EXPORT cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  ENTER;
  if (attribute != kMaxDynamicSharedBytes || value > number("SHARED", 163 << 10))
    return 1;
  return reinterpret_cast<Function *>(function)->sharedLimit = value, kSuccess;
}
EXPORT cuLaunchKernel(FunctionHandle handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned shared, StreamHandle stream, void **parameters,
                      void **) {
  ENTER;
  const Function &function = *reinterpret_cast<Function *>(handle);
  if (blockX != function.threads || blockY != 1 || blockZ != 1 || gridX * gridY * gridZ == 0 || gridY > 65535 ||
      gridZ > 65535 || shared > unsigned(function.sharedLimit))
    misuse("kernel %s is launched with blocks of %u x %u x %u threads and %u bytes of shared memory",
           function.name.c_str(), blockX, blockY, blockZ, shared);
  std::vector<uint64_t> arguments;
  std::vector<Access> accesses;
  for (uint32_t i = 0; i < function.buffers; ++i) {
    uint64_t argument = *static_cast<uint64_t *>(parameters[i]);
    arguments.push_back(argument);
    accesses.push_back({argument, driver.gpu.endOf(argument, 1, false, function.name.c_str()) - argument, true});
  }
  for (size_t i = 0; i < function.maps.size(); ++i)
    checkMap(function, function.maps[i], parameters[function.buffers + i], arguments);
  driver.gpu.enqueue(streamOf(stream), function.name, accesses, [&function, gridX, gridY, gridZ, arguments] {
    runKernel(function, {gridX, gridY, gridZ}, arguments);
  });
  return kSuccess;
}

#ifndef MPC_FAKE_WITHOUT_TENSOR_MAPS
EXPORT cuTensorMapEncodeTiled(TensorMapBytes *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                              const uint64_t *strides, const unsigned *box, const unsigned *steps, int, int swizzle,
                              int, int) {
  ENTER;
  return encodeMap(map, type, rank, address, sizes, strides, box, rank, steps, swizzle, 0, nullptr, nullptr);
}
EXPORT cuTensorMapEncodeIm2col(TensorMapBytes *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                               const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                               unsigned pixels, const unsigned *steps, int, int swizzle, int, int) {
  ENTER;
  return encodeMap(map, type, rank, address, sizes, strides, &channels, 1, steps, swizzle, pixels, lower, upper);
}
#endif

//===-- Graphs ---------------------------------------------------------------------------------===//

EXPORT cuStreamBeginCapture_v2(StreamHandle handle, int) {
  ENTER;
  Stream &stream = streamOf(handle);
  if (stream.capture)
    misuse("a stream is captured twice at once");
  driver.graphs.insert(stream.capture = new Graph);
  return kSuccess;
}
EXPORT cuStreamEndCapture(StreamHandle handle, GraphHandle *graph) {
  ENTER;
  Stream &stream = streamOf(handle);
  if (!stream.capture)
    misuse("the capture of a stream ends that never began");
  *graph = reinterpret_cast<GraphHandle>(stream.capture);
  stream.capture = nullptr;
  return kSuccess;
}
EXPORT cuGraphDestroy(GraphHandle graph) { return destroy(driver.graphs, graph, "graph"), driver.sticky; }
#ifndef MPC_FAKE_WITHOUT_GRAPHS
EXPORT cuGraphInstantiateWithFlags(ExecutableHandle *executable, GraphHandle graph, unsigned long long) {
  ENTER;
  return create(driver.executables, executable, new Graph(known(driver.graphs, graph, "graph")));
}
#endif
EXPORT cuGraphLaunch(ExecutableHandle executable, StreamHandle handle) {
  ENTER;
  Stream &stream = streamOf(handle);
  if (stream.capture)
    misuse("a graph is launched into a captured stream");
  for (const Node &node : known(driver.executables, executable, "executable graph").nodes)
    driver.gpu.enqueue(stream, node.name, node.accesses, node.work);
  return kSuccess;
}
EXPORT cuGraphExecDestroy(ExecutableHandle executable) {
  return destroy(driver.executables, executable, "executable graph"), driver.sticky;
}
