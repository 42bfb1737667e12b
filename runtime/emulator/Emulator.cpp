// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Emulator.h"

#include "runtime/emulator/Order.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>

namespace mpc::rt::emulator {

const char *nameOf(Fault fault) {
  switch (fault) {
  case Fault::None:
    return "no fault";
  case Fault::OutOfBoundsRead:
    return "out-of-bounds read";
  case Fault::OutOfBoundsWrite:
    return "out-of-bounds write";
  case Fault::ReadOnlyWrite:
    return "write to a read-only buffer";
  case Fault::Misaligned:
    return "misaligned access";
  case Fault::Uninitialized:
    return "uninitialised read";
  case Fault::Race:
    return "race";
  case Fault::UnawaitedCopy:
    return "unawaited copy_async";
  case Fault::DivergentBarrier:
    return "divergent barrier";
  case Fault::DivergentWarp:
    return "divergent warp operation";
  case Fault::UnawaitedLoad:
    return "unawaited tensor_load";
  case Fault::UnawaitedProduct:
    return "unawaited wgmma";
  case Fault::UnawaitedStore:
    return "unawaited tensor_store";
  case Fault::InUse:
    return "write to memory in use";
  case Fault::MissingFence:
    return "missing async_fence";
  case Fault::Mbarrier:
    return "misused mbarrier";
  case Fault::EndlessWait:
    return "endless mbarrier_wait";
  case Fault::Cluster:
    return "wrong block of the cluster";
  case Fault::Registers:
    return "wrong set_registers";
  }
  return "";
}

static std::string describe(const Kernel &kernel, const Finding &f, std::string_view dispatch) {
  return concat(nameOf(f.fault), " in ", dispatch.empty() ? "" : concat(dispatch, ", "), "kernel ", kernel.name,
                ", block (", f.block[0], ", ", f.block[1], ", ", f.block[2], "), thread ", f.thread, ": ", f.detail);
}

FaultError::FaultError(const Kernel &kernel, const Finding &finding, std::string_view dispatch)
    : Error(kernel.sites[finding.site], describe(kernel, finding, dispatch),
            "the generated kernel is wrong; please report it with the model and the options"),
      finding_(finding) {}

//===-- Descriptions ---------------------------------------------------------------------------===//

/// Parses a line "map" without its key; number(text) takes a number off the text. Returns rank 0 if the
/// line is not valid.
static TensorMap parseMap(std::string_view text, FunctionRef<int64_t(std::string_view &)> number) {
  TensorMap map = {};
  auto next = [&] { return number(text); };
  map.buffer = uint32_t(next()), map.elementBytes = uint32_t(next()), map.swizzle = uint32_t(next()),
  map.pixels = uint32_t(next());
  uint32_t rank = uint32_t(next());
  if (rank == 0 || rank > TensorMap::maxRank || map.elementBytes == 0 || map.elementBytes > 8 || map.swizzle > 3)
    return map;
  map.rank = rank, map.strides[0] = map.elementBytes;
  auto read = [&](int64_t *list, uint32_t begin, uint32_t end) {
    for (uint32_t d = begin; d < end; ++d)
      list[d] = next();
  };
  read(map.sizes, 0, rank), read(map.strides, 1, rank), read(map.box, 0, map.pixels ? 1 : rank),
      read(map.steps, 0, rank);
  if (map.pixels)
    read(map.lower, 1, rank - 1), read(map.upper, 1, rank - 1);
  return map;
}

Kernel Kernel::parse(std::string name, mpc_emu_kernel_fn entry, std::string_view about, const std::string &where) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.entry = entry;
  auto malformed = [&] {
    fail(where, concat("kernel '", kernel.name, "' has a description that this runtime cannot read"),
         "compile the model again");
  };
  auto number = [&](std::string_view &text) {
    while (!text.empty() && text.front() == ' ')
      text.remove_prefix(1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
      malformed();
    text.remove_prefix(size_t(end - text.data()));
    return value;
  };
  if (!about.starts_with("mpc-emulated 1\n"))
    malformed();
  about.remove_prefix(about.find('\n') + 1);
  while (!about.empty()) {
    std::string_view line = about.substr(0, about.find('\n'));
    about.remove_prefix(std::min(about.size(), line.size() + 1));
    std::string_view key = line.substr(0, line.find(' ')), rest = line.substr(std::min(line.size(), key.size() + 1));
    if (key == "threads") {
      kernel.threads = uint32_t(number(rest));
    } else if (key == "buffers") {
      kernel.buffers = uint32_t(number(rest));
    } else if (key == "granule") {
      kernel.granuleLog2 = uint32_t(__builtin_ctz(uint32_t(std::max<int64_t>(1, number(rest)))));
    } else if (key == "shared") {
      uint32_t bytes = uint32_t(number(rest)), alignment = uint32_t(number(rest));
      if (alignment == 0 || alignment > 1024 || (alignment & (alignment - 1)))
        malformed();
      // Each piece is aligned exactly as requested and never by chance to more, so that a kernel which relies
      // on more is found.
      uint32_t offset = (kernel.sharedBytes + alignment - 1) & -alignment;
      if (alignment < 1024 && !(offset & alignment))
        offset += alignment;
      kernel.shared.push_back({bytes, offset});
      kernel.sharedBytes = offset + bytes;
    } else if (key == "asynchronous") {
      kernel.asynchronous = true;
      kernel.registers = uint32_t(number(rest));
    } else if (key == "cluster") {
      kernel.cluster = uint32_t(number(rest));
    } else if (key == "map") {
      kernel.maps.push_back(parseMap(rest, number));
      if (const TensorMap &map = kernel.maps.back(); map.buffer >= kernel.buffers || map.rank == 0)
        malformed();
    } else if (key == "site") {
      kernel.sites.emplace_back(rest);
    } else {
      malformed();
    }
  }
  if (kernel.threads == 0 || kernel.threads % kWarp || kernel.threads > MPC_EMU_MAX_THREADS ||
      kernel.shared.size() > MPC_EMU_MAX_PIECES)
    malformed();
  if (kernel.cluster == 0 || kernel.cluster > MPC_EMU_MAX_CLUSTER)
    malformed();
  if (kernel.cluster > 1 && kernel.cluster * slotsOfBlock(kernel.threads) > kMaxSlots)
    fail(where,
         concat("kernel '", kernel.name, "' has clusters of ", kernel.cluster, " blocks of ", kernel.threads,
                " threads, which the emulator cannot order"),
         "use smaller clusters");
  return kernel;
}

Module::Module(std::string_view object, std::string where) : where_(std::move(where)) { object_.load(object, where_); }

const Kernel &Module::find(const std::string &symbol) {
  if (auto it = known_.find(symbol); it != known_.end())
    return it->second;
  auto entry = reinterpret_cast<mpc_emu_kernel_fn>(reinterpret_cast<void *>(object_.find(symbol)));
  auto about = reinterpret_cast<const char *>(object_.find(symbol + ".about"));
  return known_.emplace(symbol, Kernel::parse(symbol, entry, about, where_)).first->second;
}

//===-- Launches -------------------------------------------------------------------------------===//

/// The resources that one OS thread needs to run blocks.
struct Emulator::Worker {
  std::unique_ptr<Stacks> stacks;
  Scheduler scheduler;
  std::vector<Block> blocks; ///< the blocks of a cluster
};

Emulator::Emulator(Threads &threads, uint64_t seed) : threads_(threads), seed_(seed) {}
Emulator::~Emulator() = default;

std::unique_ptr<Emulator::Worker> Emulator::acquire() {
  std::lock_guard lock(mutex_);
  if (idle_.empty())
    return std::make_unique<Worker>();
  std::unique_ptr<Worker> worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

void Emulator::release(std::unique_ptr<Worker> worker) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

void Emulator::launch(const Kernel &kernel, Grid grid, std::span<const Buffer> buffers, std::string_view dispatch) {
  if (buffers.size() != kernel.buffers)
    fail(std::string(dispatch),
         concat("launches kernel ", kernel.name, " with ", buffers.size(), " buffers, not ", kernel.buffers),
         "compile the model again");
  if (grid.x % kernel.cluster != 0)
    fail(
        std::string(dispatch),
        concat("launches kernel ", kernel.name, " over ", grid.x, " blocks, which are no clusters of ", kernel.cluster),
        "compile the model again");
  std::vector<void *> arguments;
  for (size_t i = 0; i < buffers.size(); ++i)
    arguments.push_back(reinterpret_cast<void *>(MPC_EMU_GLOBAL(i)));

  // All blocks before the first faulty one run, whatever the number of threads, so that the message is the
  // same every time.
  struct Run {
    Emulator *self;
    const Kernel *kernel;
    Grid grid;
    const Buffer *buffers;
    void *const *arguments;
    std::atomic<int64_t> faulty; ///< number of the first faulty cluster
    std::mutex mutex;
    Finding finding;
    std::optional<Error> error;
  } run{this, &kernel, grid, buffers.data(), arguments.data(), int64_t(grid.x / kernel.cluster) * grid.y * grid.z,
        {},   {},      {}};
  auto blocks = [](void *context, int64_t begin, int64_t end) {
    Run &run = *static_cast<Run *>(context);
    // No exception may pass through the threads' own code.
    std::optional<Error> error = attempt([&] {
      std::unique_ptr<Worker> worker = run.self->acquire();
      uint32_t cluster = run.kernel->cluster, threads = run.kernel->threads * cluster, clusters = run.grid.x / cluster;
      if (!worker->stacks || worker->stacks->count() < threads) {
        worker->stacks.reset();
        worker->stacks = std::make_unique<Stacks>(threads);
      }
      if (worker->blocks.size() < cluster)
        worker->blocks = std::vector<Block>(cluster);
      for (int64_t i = begin; i < end && i < run.faulty.load(std::memory_order_relaxed); ++i) {
        for (uint32_t rank = 0; rank < cluster; ++rank) {
          Block &block = worker->blocks[rank];
          block.kernel = run.kernel, block.buffers = run.buffers, block.arguments = run.arguments;
          block.index[0] = uint32_t(i % clusters) * cluster + rank;
          block.gridSize = run.grid.x;
          block.index[1] = uint32_t(i / clusters % run.grid.y);
          block.index[2] = uint32_t(i / clusters / run.grid.y);
        }
        if (runBlocks(worker->blocks.data(), cluster, worker->scheduler, *worker->stacks, run.self->seed_))
          continue;
        std::lock_guard lock(run.mutex);
        if (i < run.faulty)
          run.finding = worker->scheduler.finding, run.faulty = i;
        break;
      }
      run.self->release(std::move(worker));
    });
    if (error) {
      std::lock_guard lock(run.mutex);
      run.error = error;
    }
  };
  threads_.parallelFor(blocks, &run, run.faulty, 1);
  if (run.error)
    throw *run.error;
  if (run.finding.fault != Fault::None)
    throw FaultError(kernel, run.finding, dispatch);
}

} // namespace mpc::rt::emulator
