// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/devices/HostDevice.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace mpc::rt {

HostDevice::HostDevice(const Program &program, const Plan &plan, const DeviceOptions &options)
    : ArenaDevice(plan.arenaBytes), program_(program), plan_(plan), options_(options), threads_(options.threads) {
  if (options.checkLaunches)
    faults_.emplace();
}

HostDevice::~HostDevice() {
  for (auto &[entry, launches] : prepared_)
    for (Prepared &launch : launches)
      if (launch.library.primitive)
        launch.library.library->destroy(launch.library.primitive);
  if (provider_)
    LibraryProvider::useThreads(nullptr);
}

std::string HostDevice::description() const {
  return concat("host, ", threads_.count(), threads_.count() == 1 ? " thread" : " threads",
                provider_ ? concat(", ", provider_->name()) : "");
}

void HostDevice::prepare() {
  for (const Entry &entry : plan_.entries)
    for (const Launch &launch : entry.launches)
      prepared_[&entry].push_back(prepare(launch));
  if (extraBytes_)
    shareExtraScratch();
}

// Launches run one after the other, so they can share one block.
void HostDevice::shareExtraScratch() {
  extraScratch_ = std::make_unique<Arena>(int64_t(extraBytes_));
  size_t count = 0, calls = 0;
  for (auto &[entry, launches] : prepared_)
    for (Prepared &launch : launches)
      if (launch.library.primitive) {
        ++calls;
        if (!launch.scratch) {
          launch.scratch = extraScratch_->at(0);
          ++count;
        }
      }
  if (options_.note)
    options_.note(concat(provider_->name(), " needs more scratch here than was planned for ", count, " of ", calls,
                         " library calls: ", extraBytes_, " bytes outside the plan"));
}

HostDevice::Prepared HostDevice::prepare(const Launch &launch) {
  Prepared prepared;
  for (int64_t offset : launch.args)
    prepared.buffers.push_back(arena_.at(offset));
  if (!launch.library) {
    prepared.kernel = program_.kernels().find(launch.kernel);
    prepared.grid = launch.grid[0];
    prepared.grain = launch.grain;
    return prepared;
  }
  if (!provider_)
    provider_ = std::make_unique<LibraryProvider>(options_.library, threads_.count(),
                                                  std::string(program_.section("installation")), options_.note);
  std::string where = concat(launch.loc.empty() ? "" : launch.loc + ": ", launch.name);
  prepared.library = provider_->create(*launch.library, where);
  size_t needed = prepared.library.library->scratch_bytes(prepared.library.primitive);
  if (needed <= size_t(launch.scratchBytes))
    prepared.scratch = arena_.at(launch.scratch);
  else
    extraBytes_ = std::max(extraBytes_, needed);
  return prepared;
}

void HostDevice::run(const Entry &entry, std::vector<double> *seconds) {
  if (provider_)
    LibraryProvider::useThreads(&threads_); // another session may have run since this one's last run
  auto launches = prepared_.find(&entry);
  assert((launches != prepared_.end() || entry.launches.empty()) && "an entry of another device");
  if (launches == prepared_.end())
    return;
  if (!seconds && !faults_) {
    for (const Prepared &launch : launches->second)
      execute(launch);
    return;
  }
  if (seconds)
    seconds->resize(launches->second.size());
  auto last = std::chrono::steady_clock::now();
  for (size_t i = 0; i < launches->second.size(); ++i) {
    if (faults_)
      faults_->enter(concat("launch ", describe(entry.launches[i]), " of entry '", entry.name, "'"));
    execute(launches->second[i]);
    auto now = std::chrono::steady_clock::now();
    if (seconds)
      (*seconds)[i] += std::chrono::duration<double>(now - last).count();
    last = now;
  }
}

void HostDevice::runObserved(const Entry &entry, LaunchObserver &observer) {
  if (provider_)
    LibraryProvider::useThreads(&threads_);
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    observer.before(entry.launches[i]);
    execute(prepared_.at(&entry)[i]);
    observer.after(entry.launches[i]);
  }
}

std::string HostDevice::implementation(const Entry &entry, size_t launch) const {
  auto launches = prepared_.find(&entry);
  if (launches == prepared_.end() || !launches->second[launch].library.primitive)
    return "";
  const LibraryProvider::Primitive &library = launches->second[launch].library;
  return library.library->implementation(library.primitive);
}

void HostDevice::execute(const Prepared &launch) {
  if (launch.kernel)
    threads_.parallelFor(launch.kernel, launch.buffers.data(), launch.grid, launch.grain);
  else
    launch.library.library->execute(launch.library.primitive, launch.buffers.data(), launch.scratch);
}

} // namespace mpc::rt
