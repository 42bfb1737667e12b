// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Threads.h"

#include "runtime/host/Trust.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace mpc::rt {

int availableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return int(std::max(1u, std::thread::hardware_concurrency()));
}

namespace {
struct Job {
  mpc_kernel_fn kernel;
  void *const *buffers;
  int64_t grid;
  int parts;
  int (*threadNumber)();
  int (*teamSize)();

  void slice(int part) const {
    int64_t begin = grid / parts * part + std::min<int64_t>(part, grid % parts);
    int64_t end = begin + grid / parts + (part < grid % parts);
    kernel(buffers, begin, end);
  }
};

void gompWorker(void *data) {
  // A team may be smaller than requested (OMP_THREAD_LIMIT), so a thread strides over the slices.
  const Job &job = *static_cast<const Job *>(data);
  for (int part = job.threadNumber(), stride = job.teamSize(); part < job.parts; part += stride)
    job.slice(part);
}

/// The number of times a thread checks for what it waits for before it sleeps: some fifty microseconds, which is what
/// waking a sleeping thread costs on a virtual machine. On such a one (Emerald Rapids, two CPUs) a training step of
/// an LSTM, of 540 launches, took 183 ms with 1000 checks and 178 with 4000, and no less with more. More would hurt if
/// other programs want the CPU: the waiting thread then often waits for a thread that has no CPU, and by spinning it
/// takes the CPU from that thread.
constexpr int kSpins = 4000;
constexpr char kSpinsText[] = "4000";
} // namespace

/// Threads of our own, which spin for a moment while they wait, then sleep.
struct Threads::Pool {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::atomic<uint64_t> generation = 0;
  std::atomic<int> running = 0;
  std::atomic<bool> stop = false;
  Job job = {};

  explicit Pool(int count) {
    try {
      for (int part = 1; part < count; ++part)
        workers.emplace_back([this, part] { work(part); });
    } catch (...) { // memory or threads have run out; those that run must end before they are destroyed
      finish();
      throw;
    }
  }
  ~Pool() { finish(); }
  void finish() {
    {
      std::lock_guard lock(mutex);
      stop = true;
      ++generation;
    }
    wake.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }
  void work(int part) {
    for (uint64_t seen = 0;;) {
      for (int spin = 0; spin < kSpins && generation.load(std::memory_order_acquire) == seen; ++spin)
        __builtin_ia32_pause();
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load() != seen; });
      }
      seen = generation.load(std::memory_order_acquire);
      if (stop)
        return;
      if (part < job.parts)
        job.slice(part);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        {
          std::lock_guard lock(mutex);
        } // the lock keeps the notification from falling between the last check of `run` and its sleep
        done.notify_one();
      }
    }
  }
  void run(const Job &next) {
    {
      std::lock_guard lock(mutex);
      job = next;
      running = int(workers.size());
      generation.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
    job.slice(0);
    for (int spin = 0; spin < kSpins && running.load(std::memory_order_acquire) != 0; ++spin)
      __builtin_ia32_pause();
    if (running.load(std::memory_order_acquire) != 0) {
      std::unique_lock lock(mutex);
      done.wait(lock, [&] { return running.load(std::memory_order_acquire) == 0; });
    }
  }
};

/// Opens the copy that the process has, the bundle's beside the program, or the system's.
static void *openGomp() {
  constexpr char kName[] = "libgomp.so.1", kSpinCount[] = "GOMP_SPINCOUNT";
  if (void *gomp = dlopen(kName, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD))
    return gomp;
  // libgomp reads the variable when it is loaded, and never again; by default its threads spin for milliseconds.
  bool ours = !std::getenv("OMP_WAIT_POLICY") && !std::getenv(kSpinCount);
  if (ours)
    setenv(kSpinCount, kSpinsText, 0);
  std::string folder = programFolder();
  void *gomp = nullptr;
  if (CodeFile beside = codeFileBeside(folder + kName); !folder.empty() && beside.distrusted.empty())
    gomp = dlopen(beside.path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!gomp)
    gomp = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (ours)
    unsetenv(kSpinCount);
  return gomp;
}

// Made once, so it is built for size, unlike the rest of this file.
[[gnu::cold]] Threads::Threads(int count, Backend backend) : count_(count > 0 ? count : availableCpus()) {
  if (count_ == 1)
    return;
  bool useGomp = backend == Backend::LibgompOrPool && !std::getenv("MPC_NO_LIBGOMP"); // tests of the fallback set it
  if (void *gomp = useGomp ? openGomp() : nullptr) {
    gompParallel_ = reinterpret_cast<GompParallel>(dlsym(gomp, "GOMP_parallel"));
    gompThreadNumber_ = reinterpret_cast<GompNumber>(dlsym(gomp, "omp_get_thread_num"));
    gompTeamSize_ = reinterpret_cast<GompNumber>(dlsym(gomp, "omp_get_num_threads"));
    auto setThreads = reinterpret_cast<void (*)(int)>(dlsym(gomp, "omp_set_num_threads"));
    auto setDynamic = reinterpret_cast<void (*)(int)>(dlsym(gomp, "omp_set_dynamic"));
    if (gompParallel_ && gompThreadNumber_ && gompTeamSize_ && setThreads && setDynamic) {
      setDynamic(0);
      setThreads(count_);
      return;
    }
    gompParallel_ = nullptr;
  }
  pool_ = std::make_unique<Pool>(count_);
}

Threads::~Threads() = default;

const char *Threads::backend() const { return gompParallel_ ? "libgomp" : pool_ ? "own pool" : "single thread"; }

void Threads::parallelFor(mpc_kernel_fn kernel, void *const *buffers, int64_t grid, int64_t grain) {
  if (grid <= 0)
    return;
  int parts = int(std::min<int64_t>(count_, grid / std::max<int64_t>(grain, 1)));
  if (parts <= 1) {
    kernel(buffers, 0, grid);
    return;
  }
  Job job{kernel, buffers, grid, parts, gompThreadNumber_, gompTeamSize_};
  if (gompParallel_)
    gompParallel_(gompWorker, &job, unsigned(parts), 0);
  else
    pool_->run(job);
}

void Threads::parallelFor(void (*body)(void *, int64_t, int64_t), void *context, int64_t grid, int64_t grain) {
  struct Call {
    void (*body)(void *, int64_t, int64_t);
    void *context;
  } call{body, context};
  void *buffers[] = {&call};
  parallelFor(
      [](void *const *buffers, int64_t begin, int64_t end) {
        const Call &call = *static_cast<const Call *>(buffers[0]);
        call.body(call.context, begin, end);
      },
      buffers, grid, grain);
}

} // namespace mpc::rt
