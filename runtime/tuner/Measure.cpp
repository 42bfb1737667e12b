// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tuner/Measure.h"

#include "runtime/support/Error.h"
#include "runtime/support/Random.h"

#include <algorithm>
#include <numeric>

namespace mpc::rt {

/// The sets of buffers together exceed L2 (H100: 50 MiB) by more than its size, so that no set is still there when its
/// turn comes; more than 64 sets would not help.
static constexpr int64_t kRotatingBytes = 128 << 20, kMostSets = 64;
static constexpr int64_t kSetAlignment = 256;
/// The count of numbers that are drawn; it is a prime, so that neighbouring rows differ.
static constexpr size_t kDrawn = 1'048'573;

CandidateBench::CandidateBench(const Program &program, const Plan &plan, bool emulator) : plan_(plan) {
  plan_.arenaBytes = 0;
  for (Entry &entry : plan_.entries)
    repeat(entry, emulator);
  DeviceOptions options;
  if (emulator) {
    emulator_ = std::make_unique<EmulatorDevice>(program, plan_, options);
    device_ = emulator_.get();
    gpu_ = device_->description();
  } else {
    cuda::Gpu gpu = cuda::Driver::get().gpu();
    cuda_ = std::make_unique<CudaDevice>(program, plan_, gpu, options);
    device_ = cuda_.get();
    gpu_ = gpu.name;
  }
  device_->prepare();
}

void CandidateBench::repeat(Entry &entry, bool emulator) {
  Layout layout{std::move(entry.inputs), entry.outputs.at(0)};
  entry.inputs.clear(); // no inputs are staged
  for (const Launch &launch : entry.launches)
    for (size_t i = 0; i < launch.args.size(); ++i)
      layout.stride = std::max(layout.stride, launch.args[i] + launch.argBytes[i]);
  layout.stride = (layout.stride + kSetAlignment - 1) / kSetAlignment * kSetAlignment;
  if (!emulator)
    layout.sets = std::clamp<int64_t>(kRotatingBytes / layout.stride + 1, 2, kMostSets);
  plan_.arenaBytes = std::max(plan_.arenaBytes, layout.sets * layout.stride);
  std::vector<Launch> once = std::move(entry.launches);
  entry.launches.clear();
  for (int64_t set = 0; set < layout.sets; ++set)
    for (Launch launch : once) {
      for (int64_t &arg : launch.args)
        arg += set * layout.stride;
      entry.launches.push_back(std::move(launch));
    }
  layouts_.push_back(std::move(layout));
}

size_t CandidateBench::indexOf(const std::string &entry) const {
  for (size_t i = 0; i < plan_.entries.size(); ++i)
    if (plan_.entries[i].name == entry)
      return i;
  fail("tuner.json", concat("names the entry '", entry, "', which is none"), "compile the tuner again");
}

const std::vector<std::byte> &CandidateBench::drawn(mpc_dtype type, size_t operand, bool integers) {
  std::vector<std::byte> &bytes = drawn_[{type, operand, integers}];
  if (!bytes.empty())
    return bytes;
  RandomStream random(0, concat("operand ", operand));
  bytes.resize(kDrawn * sizeOf(type));
  for (size_t at = 0; at < kDrawn; ++at)
    storeDouble(type, bytes.data(), at, integers ? double(int(random.uniform(at) * 5) - 2) : random.normal(at));
  return bytes;
}

void CandidateBench::fill(const Layout &layout, int64_t sets, bool integers) {
  std::string wanted = concat(integers, " ", layout.stride, " ", sets);
  for (const Port &port : layout.inputs)
    wanted += concat(" ", port.offset, " ", port.bytes, " ", nameOf(port.dtype));
  if (filled_ == wanted)
    return;
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    const Port &port = layout.inputs[i];
    const std::vector<std::byte> &drawn = this->drawn(port.dtype, i, integers);
    std::vector<std::byte> bytes;
    while (bytes.size() < size_t(port.bytes))
      bytes.insert(bytes.end(), drawn.begin(), drawn.end());
    for (int64_t set = 0; set < sets; ++set)
      device_->write(port.offset + set * layout.stride, bytes.data(), size_t(port.bytes));
  }
  filled_ = wanted;
}

std::vector<std::byte> CandidateBench::exactResult(const std::string &entry) {
  size_t index = indexOf(entry);
  const Layout &layout = layouts_[index];
  fill(layout, 1, /*integers=*/true);
  // The candidates of a problem share their output, so it is overwritten first: elements that one candidate fails to
  // store must not come from another.
  std::vector<std::byte> result(size_t(layout.output.bytes), std::byte(0xff));
  device_->write(layout.output.offset, result.data(), result.size());
  device_->run(plan_.entries[index], nullptr);
  device_->read(layout.output.offset, result.data(), result.size());
  return result;
}

double CandidateBench::seconds(const std::string &name, const Effort &effort) {
  size_t index = indexOf(name);
  const Layout &layout = layouts_[index];
  const Entry &entry = plan_.entries[index];
  fill(layout, layout.sets, /*integers=*/false);
  if (emulator_) {
    std::vector<double> launches;
    emulator_->run(entry, &launches);
    return std::accumulate(launches.begin(), launches.end(), 0.0);
  }
  // The first runs warm up, and show how many more runs there is time for.
  std::vector<double> times = cuda_->time(entry, 4);
  double each = *std::min_element(times.begin(), times.end());
  size_t least = (effort.iterations + size_t(layout.sets) - 1) / size_t(layout.sets);
  times = cuda_->time(entry, std::clamp(size_t(effort.seconds / each), least, std::max<size_t>(least, 1000)));
  std::nth_element(times.begin(), times.begin() + ptrdiff_t(times.size() / 2), times.end());
  return times[times.size() / 2] / double(layout.sets);
}

} // namespace mpc::rt
