// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Converts the samples of a batch into the order in which an input is stored, with several threads.
#include "runtime/core/data/Dataset.h"
#include "runtime/core/data/Finite.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

namespace mpc::rt {

/// A thread gets at least this many bytes of a batch: copying them takes some 50 microseconds, several times what
/// waking a sleeping thread costs.
static constexpr size_t kLeastBytes = 256 << 10;

/// Calls body(begin, end) for slices that cover [0, count), in several threads. Throws the Error of the first slice
/// that fails; since a slice ends at its first failure, this is the error of the first item, whatever the number of
/// threads.
template <typename Body>
static void forSlices(Threads &threads, size_t count, size_t grain, Body &&body) {
  struct Work {
    Body &body;
    std::mutex mutex = {};
    std::optional<Error> error = {};
    int64_t failed = 0; // where the slice of `error` begins
  } work{body};
  threads.parallelFor(
      [](void *context, int64_t begin, int64_t end) {
        Work &work = *static_cast<Work *>(context);
        std::optional<Error> error = attempt([&] { work.body(size_t(begin), size_t(end)); });
        if (!error)
          return;
        std::lock_guard lock(work.mutex);
        if (work.error && work.failed < begin)
          return;
        work.error.emplace(std::move(*error));
        work.failed = begin;
      },
      &work, int64_t(count), int64_t(grain));
  if (work.error)
    throw *work.error;
}

void Dataset::Source::convertUnit(size_t index, mpc_dtype type, std::byte *target) const {
  convertValues(array.data + index * size_t(unit()) * sizeOf(array.dtype), type, target);
}

void Dataset::Source::convertValues(const std::byte *from, mpc_dtype type, std::byte *target) const {
  const size_t part = size_t(unit()) / maps.size();
  for (size_t c = 0; c < maps.size(); ++c)
    convert(array.dtype, from + c * part * sizeOf(array.dtype), type, target + c * part * sizeOf(type), part, maps[c]);
}

void Dataset::convertChecked(const Source &source, const Port &port, size_t index, std::byte *target) const {
  const auto unit = size_t(source.unit());
  if (isFloat(port.dtype)) {
    source.convertUnit(index, port.dtype, target);
    if (!surelyFinite(port.dtype, target, unit))
      checkFloats(source, port, index * unit, unit);
    return;
  }
  // What is checked is a copy, because the file may change between the check and the conversion.
  const mpc_dtype type = source.array.dtype;
  std::byte copy[kBlock * sizeof(int64_t)];
  for (size_t done = 0, n; done < unit; done += n) {
    n = std::min(kBlock, unit - done);
    std::memcpy(copy, source.array.data + (index * unit + done) * sizeOf(type), n * sizeOf(type));
    checkIntegers(source, port, copy, index * unit + done, n);
    convert(type, copy, port.dtype, target + done * sizeOf(port.dtype), n);
  }
}

void Dataset::writeProbabilities(const Source &source, const Port &port, const Port &numbers, size_t index, bool check,
                                 std::byte *target) const {
  std::vector<int64_t> classes(size_t(source.unit()));
  auto *bytes = reinterpret_cast<std::byte *>(classes.data());
  check ? convertChecked(source, numbers, index, bytes) : source.convertUnit(index, numbers.dtype, bytes);
  const auto axis = size_t(port.labelsOf->axis);
  const auto count = size_t(port.shape[axis]), inner = size_t(elementsOf(std::span(port.shape).subspan(axis + 1)));
  std::memset(target, 0, classes.size() * count * sizeOf(port.dtype));
  for (size_t i = 0; i < classes.size(); ++i)
    storeDouble(port.dtype, target, (i / inner * count + size_t(classes[i])) * inner + i % inner, 1);
}

void Dataset::readPicture(const Source &source, const Port &port, uint32_t sample, const Draw &draw,
                          std::byte *target) const {
  auto read = [&] {
    std::vector<std::byte> values(size_t(source.sampleElements) * sizeOf(source.array.dtype));
    source.pictures->read(sample, draw, source.part, values.data());
    source.convertValues(values.data(), port.dtype, target);
  };
  if (!skipBad_)
    return read();
  if (std::optional<Error> error = attempt(read))
    bad_->add(sample, *error);
}

void Dataset::fill(const Port &port, std::span<const uint32_t> samples, const Draw &draw, void *stored,
                   std::vector<std::byte> &scratch, Threads &readers) const {
  const Source &from = source(port);
  const Transpose order(port.shape, port.permutation);
  const size_t elementBytes = sizeOf(port.dtype);
  const Port taker = takerOf(from, port);
  const bool check = from.inFile && mayMisfit(from, taker), classes = taker.dtype != port.dtype;
  auto convertUnit = [&](uint32_t index, std::byte *to) {
    if (from.pictures)
      return readPicture(from, port, index, draw, to);
    if (classes)
      return writeProbabilities(from, port, taker, index, check, to);
    check ? convertChecked(from, port, index, to) : from.convertUnit(index, port.dtype, to);
  };
  auto *target = static_cast<std::byte *>(stored);
  if (!order.identity())
    scratch.resize(size_t(elementsOf(port.shape)) * elementBytes);
  std::byte *logical = order.identity() ? target : scratch.data();
  if (!from.batched) {
    convertUnit(0, logical);
  } else {
    const size_t sampleBytes = size_t(elementsOf(port.shape) / batch_) * elementBytes;
    // Samples that also lie one after the other in the stored order are reordered one by one, while the CPU's cache
    // holds them: a slice converts each in the place of its first one.
    std::optional<Transpose> ofSample;
    if (!order.identity() && port.permutation[0] == 0) {
      Shape sample = port.shape;
      sample[0] = from.rowsPerSample;
      ofSample.emplace(sample, port.permutation);
    }
    // Decoding a picture takes far longer than waking a thread.
    const size_t grain = from.pictures ? 1 : std::max<size_t>(kLeastBytes / std::max<size_t>(sampleBytes, 1), 1);
    forSlices(readers, samples.size(), grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        std::byte *converted = logical + (ofSample ? begin : i) * sampleBytes;
        convertUnit(samples[i], converted);
        if (ofSample)
          ofSample->toStored(converted, target + i * sampleBytes, elementBytes);
      }
    });
    if (ofSample)
      return;
  }
  if (!order.identity())
    order.toStored(logical, stored, elementBytes);
}

void Dataset::mix(const std::vector<const Port *> &ports, const Draw &draw, int64_t batch,
                  std::vector<std::vector<std::byte>> &inputs, std::vector<std::byte> &scratch,
                  Threads &readers) const {
  if (mixing_.empty())
    return;
  Mix mix;
  for (const Port *port : ports)
    if (port->name == mixing_.input)
      mix = mixing_.draw(draw.seed, draw.epoch, batch, port->shape[2], port->shape[3]);
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i]->batched)
      mixSamples(*ports[i], batch_, mix, ports[i]->name == mixing_.input, inputs[i].data(), scratch, readers);
}

} // namespace mpc::rt
