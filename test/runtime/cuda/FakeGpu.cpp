// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FakeGpu.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace mpc::rt::cuda::fake {

static constexpr size_t kAlignment = 256, kGuard = 256; // cuMemAlloc aligns to 256 bytes
static constexpr int kGuardByte = 0xE5, kFreshByte = 0xCB;

void misuse(const char *format, ...) {
  std::fputs("fake driver: misuse: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputs("\n", stderr);
  _exit(86);
}

void merge(Clock &into, const Clock &from) {
  for (auto [stream, index] : from)
    into[stream] = std::max(into[stream], index);
}

//===-- Memory ---------------------------------------------------------------------------------===//

uint64_t Gpu::allocate(size_t bytes, bool pinned) {
  size_t all = bytes + kAlignment + 2 * kGuard;
  Allocation allocation{bytes, pinned, std::make_unique<std::byte[]>(all), {}};
  std::memset(allocation.memory.get(), kGuardByte, all);
  uint64_t address =
      (reinterpret_cast<uint64_t>(allocation.memory.get()) + kGuard + kAlignment - 1) / kAlignment * kAlignment;
  std::memset(reinterpret_cast<void *>(address), kFreshByte, bytes); // fresh memory may hold anything
  allocations_.emplace(address, std::move(allocation));
  used_ += pinned ? 0 : bytes;
  return address;
}

void Gpu::checkGuards(const std::pair<const uint64_t, Allocation> &allocation) {
  auto *begin = reinterpret_cast<const unsigned char *>(allocation.first);
  for (size_t i = 1; i <= kGuard; ++i)
    if (begin[-ptrdiff_t(i)] != kGuardByte || begin[allocation.second.bytes + i - 1] != kGuardByte)
      misuse("memory around an allocation of %zu bytes was written", allocation.second.bytes);
}

void Gpu::release(uint64_t address, bool pinned) {
  auto it = allocations_.find(address);
  if (it == allocations_.end() || it->second.pinned != pinned)
    misuse("%s memory is freed that is none, or for the second time", pinned ? "pinned" : "device");
  checkGuards(*it);
  for (const Past &past : it->second.past)
    if (past.index > past.stream->done && !stopped)
      misuse("memory is freed before '%s' is done with it", past.name.c_str());
  used_ -= pinned ? 0 : it->second.bytes;
  allocations_.erase(it);
}

const std::pair<const uint64_t, Gpu::Allocation> &Gpu::find(uint64_t address, size_t bytes, const char *who) const {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin() || (--it, address + bytes > it->first + it->second.bytes))
    misuse("%s: %zu bytes outside every allocation (of unpinned memory, perhaps)", who, bytes);
  return *it;
}

uint64_t Gpu::endOf(uint64_t address, size_t bytes, bool pinned, const char *who) const {
  const auto &[begin, allocation] = find(address, bytes, who);
  if (allocation.pinned != pinned)
    misuse("%s: %s memory where it takes %s", who, pinned ? "device" : "pinned", pinned ? "pinned" : "device");
  return begin + allocation.bytes;
}

//===-- Order ----------------------------------------------------------------------------------===//

void Gpu::enqueue(Stream &stream, std::string name, std::vector<Access> accesses, std::function<void()> work) {
  if (stream.capture) {
    stream.capture->nodes.push_back({std::move(name), std::move(accesses), std::move(work)});
    return;
  }
  merge(stream.clock, host_); // the process issued it after everything that it waited for
  for (const Access &access : accesses) {
    auto &past = const_cast<Allocation &>(find(access.begin, access.bytes, name.c_str()).second).past;
    std::erase_if(past, [&](const Past &p) { return p.index <= host_[p.stream]; });
    for (const Past &p : past)
      if (p.stream != &stream && (p.access.write || access.write) && p.access.begin < access.begin + access.bytes &&
          access.begin < p.access.begin + p.access.bytes && p.index > stream.clock[p.stream])
        misuse("nothing orders '%s' behind '%s' of another stream, which touches the same memory", name.c_str(),
               p.name.c_str());
    past.push_back({access, &stream, stream.issued + 1, name});
  }
  stream.clock[&stream] = ++stream.issued;
  stream.queue.push_back({std::move(name), std::move(work), nullptr, 0});
  if (eager)
    execute(stream, stream.issued);
}

void Gpu::record(Event &event, Stream &stream) {
  event.captured = stream.capture;
  enqueue(stream, "event", {}, [&event] {
    event.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  });
  event.stream = &stream;
  event.index = stream.issued;
  event.clock = stream.clock;
}

void Gpu::wait(Stream &stream, const Event &event) {
  if (stream.capture || event.captured)
    misuse("an event of outside of a captured stream is waited for in it, or the other way round");
  if (!event.stream)
    return; // the event was never recorded
  merge(stream.clock, event.clock);
  stream.clock[&stream] = ++stream.issued;
  stream.queue.push_back({"wait", nullptr, event.stream, event.index});
  if (eager)
    execute(stream, stream.issued);
}

void Gpu::execute(Stream &stream, uint64_t index) {
  if (stream.done >= index)
    return;
  if (stream.busy)
    misuse("streams wait for each other");
  stream.busy = true;
  while (stream.done < index) {
    Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (operation.after && operation.after != &stream)
      execute(*operation.after, operation.afterIndex);
    if (operation.work && !stopped && !hung)
      operation.work();
    ++stream.done;
  }
  stream.busy = false;
}

void Gpu::synchronize(Stream &stream, uint64_t index, const Clock &clock) {
  if (stream.capture)
    misuse("a stream is waited for while it is captured");
  execute(stream, index);
  merge(host_, clock);
}

bool Gpu::query(Stream &stream) {
  stream.asked = !stream.asked && stream.done < stream.issued;
  if (!stream.asked)
    synchronize(stream, stream.issued, stream.clock);
  return !stream.asked && !hung;
}

void Gpu::checkLeaks() const {
  for (const auto &allocation : allocations_) {
    checkGuards(allocation);
    misuse("%zu bytes of %s memory were never freed", allocation.second.bytes,
           allocation.second.pinned ? "pinned" : "device");
  }
}

} // namespace mpc::rt::cuda::fake
