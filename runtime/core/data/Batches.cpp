// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Batches.h"

#include "runtime/support/Random.h"

#include <algorithm>
#include <numeric>

namespace mpc::rt {

size_t stagedIndex(const std::vector<const Port *> &staged, const Port &port) {
  size_t i = 0;
  while (i < staged.size() && (staged[i]->name != port.name || staged[i]->dtype != port.dtype ||
                               staged[i]->shape != port.shape || staged[i]->permutation != port.permutation))
    ++i;
  return i;
}

Batches::Batches(const Dataset &data, const std::vector<const Entry *> &entries, BatchOptions options)
    : data_(data), options_(options), readers_(data.readers(), Threads::Backend::OwnPool) {
  int64_t samples = data.samples(), batch = data.batch();
  perEpoch_ = options.train ? samples / batch : (samples + batch - 1) / batch;
  if (perEpoch_ == 0)
    fail("--data", concat("holds ", samples, " samples, less than one batch of ", batch),
         "give more samples or compile the model with a smaller --batch");
  for (const Port *port : inputsOf(entries))
    if (stagedIndex(ports_, *port) == ports_.size())
      ports_.push_back(port);
  for (Batch &slot : slots_)
    for (const Port *port : ports_)
      slot.inputs.emplace_back(size_t(elementsOf(port->shape)) * sizeOf(port->dtype));
  thread_ = std::thread([this] { produce(); });
}

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Batches::prepare(Batch &batch, std::vector<std::byte> &scratch) {
  if (options_.batch >= perEpoch_) {
    if (!options_.train)
      return false;
    options_.batch = 0;
    ++options_.epoch;
  }
  if (orderEpoch_ != options_.epoch) {
    uint32_t samples = uint32_t(data_.samples());
    if (options_.shuffle) {
      order_ = shuffledOrder(samples, options_.seed, uint64_t(options_.epoch));
    } else {
      order_.resize(samples);
      std::iota(order_.begin(), order_.end(), 0u);
    }
    orderEpoch_ = options_.epoch;
  }
  int64_t size = data_.batch(), first = options_.batch * size;
  batch.epoch = options_.epoch;
  batch.index = options_.batch++;
  const auto begin = order_.begin() + first;
  if (!fill(batch, {begin, begin + std::min(size, int64_t(order_.size()) - first)}, scratch))
    return prepare(batch, scratch); // an evaluation leaves out a batch without samples
  data_.checkUnchanged(ports_);     // must come before anybody uses the batch
  return true;
}

/// Returns the samples that are not known to be bad.
static std::vector<uint32_t> readable(const Dataset &data, std::vector<uint32_t> samples) {
  std::erase_if(samples, [&](uint32_t sample) { return data.badSamples().contains(sample); });
  return samples;
}

/// Fills the batch with the samples that can be read. Which ones cannot is known only afterwards, and then it is filled
/// again without them. A batch of training that has none gets others of the epoch. Returns false if an evaluation is to
/// leave the batch out.
bool Batches::fill(Batch &batch, std::vector<uint32_t> samples, std::vector<std::byte> &scratch) {
  const Draw draw{options_.train, options_.seed, batch.epoch};
  size_t bad;
  do {
    samples = readable(data_, samples);
    if (samples.empty()) {
      samples = readable(data_, order_);
      if (samples.empty())
        fail("--bad-samples=skip", concat("no sample can be read; ", data_.badSamples().text()), "repair the data");
      if (!options_.train)
        return false;
      samples.resize(std::min(samples.size(), size_t(data_.batch())));
    }
    batch.count = int64_t(samples.size());
    std::vector<uint32_t> padded = samples;
    while (int64_t(padded.size()) < data_.batch())
      padded.push_back(options_.train ? samples[padded.size() % samples.size()] : samples.back());
    bad = data_.badSamples().count();
    for (size_t i = 0; i < ports_.size(); ++i)
      data_.fill(*ports_[i], padded, draw, batch.inputs[i].data(), scratch, readers_);
  } while (data_.badSamples().count() > bad);
  if (options_.train)
    data_.mix(ports_, draw, batch.index, batch.inputs, scratch, readers_);
  return true;
}

void Batches::produce() {
  std::vector<std::byte> scratch;
  for (int slot = 0;; slot ^= 1) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || filled_ < 2; });
      if (stop_)
        return;
    }
    bool more = false;
    std::optional<Error> error = attempt([&] { more = prepare(slots_[slot], scratch); });
    {
      std::lock_guard lock(mutex_);
      if (more)
        ++filled_;
      else
        ended_ = true;
      error_ = std::move(error); // no exception may leave a thread
    }
    changed_.notify_all();
    if (!more)
      return;
  }
}

const Batches::Batch *Batches::next() {
  std::unique_lock lock(mutex_);
  if (lent_) { // returns the batch of the last call
    consumer_ ^= 1;
    --filled_;
    lent_ = false;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return filled_ > 0 || ended_; });
  if (filled_ == 0 && error_)
    throw *error_;
  if (filled_ == 0)
    return nullptr;
  lent_ = true;
  return &slots_[consumer_];
}

void Batches::load(const Batch &batch, Session &session, const Entry &entry) const {
  for (const Port &port : entry.inputs)
    session.setStored(port, batch.inputs[stagedIndex(ports_, port)].data());
}

} // namespace mpc::rt
