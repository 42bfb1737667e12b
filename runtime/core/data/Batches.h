// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stream of batches: it is shuffled per epoch, and its own threads prepare one batch ahead.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/core/data/Dataset.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace mpc::rt {

struct BatchOptions {
  /// True: endless epochs for training, and the last partial batch of each is dropped. False: one pass in order, and
  /// the last batch is padded with copies of its last sample. The samples get the random changes of --augment only in
  /// training.
  bool train = false;
  bool shuffle = false; // makes a new order for each epoch, from the seed and the epoch's number
  uint64_t seed = 0;
  int64_t epoch = 0, batch = 0; // where a resumed training starts
};

class Batches {
public:
  struct Batch {
    int64_t epoch = 0, index = 0; // the position: the index counts from 0 within the epoch
    int64_t count = 0;            // real samples; the rest is padding, in training with copies in turn
    std::vector<std::vector<std::byte>> inputs;
  };

  /// Throws Error when training data holds less than one batch. The dataset must outlive this object.
  Batches(const Dataset &data, const std::vector<const Entry *> &entries, BatchOptions options);
  ~Batches();

  /// Returns the next batch, or null at the end of the pass. It stays valid until the next call. Throws the Error
  /// that occurred while preparing it.
  const Batch *next();
  /// Copies the batch into the entry's inputs.
  void load(const Batch &batch, Session &session, const Entry &entry) const;

private:
  void produce();
  bool prepare(Batch &batch, std::vector<std::byte> &scratch);
  bool fill(Batch &batch, std::vector<uint32_t> samples, std::vector<std::byte> &scratch);

  const Dataset &data_;
  BatchOptions options_;
  int64_t perEpoch_;
  std::vector<const Port *> ports_; // one per staged input
  std::vector<uint32_t> order_;
  int64_t orderEpoch_ = -1;
  Threads readers_; // the preparing thread is one of them

  Batch slots_[2];
  int filled_ = 0; // slots ready for next(), including the one it returned last
  int consumer_ = 0;
  bool lent_ = false, ended_ = false, stop_ = false;
  std::optional<Error> error_; // the error that ended the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

/// Returns the place of a port in the staged inputs: ports of one name, type and stored order share it.
size_t stagedIndex(const std::vector<const Port *> &staged, const Port &port);

} // namespace mpc::rt
