// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Evaluate.h"

#include "runtime/core/FreshNumbers.h"
#include "runtime/core/data/Npz.h"
#include "runtime/support/Error.h"

#include <deque>

namespace mpc::rt {

/// Returns the sum, in double, of the first `count` of `batch` parts of an output.
static double sumOf(const Session &session, const Port &port, int64_t count, int64_t batch) {
  Tensor values = session.read(port);
  int64_t used = values.elements() * count / batch;
  double sum = 0;
  for (int64_t i = 0; i < used; ++i)
    sum += values.at(size_t(i));
  return sum;
}

std::string Evaluation::lossText(const std::string &name, const std::string &separator) const {
  if (!loss)
    return "";
  return concat(name, separator, *loss,
                lossSamples < samples ? concat(" (over ", lossSamples, " of ", samples, " samples)") : "");
}

Evaluation evaluate(Session &session, const Dataset &data, const ProgressSink &progress) {
  const Entry &entry = session.entryOfKind("eval");
  const Port *sampleLoss = entry.outputOfRole("sample_loss"), *sampleWeight = entry.outputOfRole("sample_weight"),
             *batchLoss = entry.outputOfRole("loss");
  std::deque<Accuracy> accuracies;
  std::vector<std::vector<std::byte>> labels;
  for (const Metric &metric : session.manifest().metrics)
    if (metric.kind == "accuracy") {
      accuracies.emplace_back(metric, entry);
      const Port &port = accuracies.back().labels();
      labels.emplace_back(size_t(elementsOf(port.shape)) * sizeOf(port.dtype));
    }
  Batches batches(data, {&entry}, {});
  FreshNumbers numbers(session);
  Evaluation result;
  double lossSum = 0, weightSum = 0;
  while (const Batches::Batch *batch = batches.next()) {
    batches.load(*batch, session, entry);
    // The run may overwrite the inputs, so the labels are read before it.
    for (size_t i = 0; i < accuracies.size(); ++i)
      session.read(accuracies[i].labels(), labels[i].data());
    numbers.next();
    session.run(entry);
    if (sampleLoss) {
      lossSum += sumOf(session, *sampleLoss, batch->count, data.batch());
      weightSum += sampleWeight ? sumOf(session, *sampleWeight, batch->count, data.batch()) : double(batch->count);
      result.lossSamples += batch->count;
    } else if (batchLoss && batch->count == data.batch()) {
      lossSum += session.readScalar(*batchLoss) * double(batch->count);
      weightSum += double(batch->count);
      result.lossSamples += batch->count;
    }
    for (size_t i = 0; i < accuracies.size(); ++i)
      accuracies[i].add(session, labels[i].data(), batch->count, data.batch());
    result.samples += batch->count;
    if (progress)
      progress(result.samples);
  }
  if (sampleLoss || batchLoss)
    result.loss = lossSum / weightSum; // NaN when no sample counts
  for (const Accuracy &accuracy : accuracies)
    result.metrics.push_back(accuracy.result());
  return result;
}

void predict(Session &session, const Dataset &data, const std::string &path, const ProgressSink &progress) {
  const Entry &entry = session.entryOfKind("predict");
  NpzWriter writer(path); // comes first, so that an unwritable path is an error before any work is done
  int64_t batchSize = data.batch(), samples = data.samples();
  std::vector<const Port *> ports;
  std::vector<Tensor> results;
  for (const Port &port : entry.outputs) {
    if (!port.role.empty() && port.role != "output")
      continue;
    if (!port.batched && !port.fixed && samples != batchSize)
      fail(session.program().where(),
           concat("output '", port.name, "' ", toString(port.shape),
                  " has no part for each sample: it cannot be put together from ", samples, " samples in batches of ",
                  batchSize),
           concat("compile with --outputs that leave it out, or give data of ", batchSize, " samples"));
    ports.push_back(&port);
    Shape shape = port.shape;
    if (port.batched)
      shape[0] = shape[0] / batchSize * samples;
    results.emplace_back(port.dtype, shape);
  }
  if (ports.empty())
    fail(session.program().where(), "its predict entry has no outputs", "compile the model with --outputs");
  Batches batches(data, {&entry}, {});
  FreshNumbers numbers(session);
  int64_t done = 0;
  while (const Batches::Batch *batch = batches.next()) {
    batches.load(*batch, session, entry);
    numbers.next();
    session.run(entry);
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!ports[i]->batched && done > 0)
        continue; // a fixed output is written once
      Tensor part = session.read(*ports[i]);
      size_t bytesPerSample = part.bytes.size() / size_t(batchSize);
      auto begin = part.bytes.begin();
      if (ports[i]->batched)
        std::copy(begin, begin + long(bytesPerSample * size_t(batch->count)),
                  results[i].bytes.begin() + long(bytesPerSample * size_t(done)));
      else
        results[i] = std::move(part);
    }
    done += batch->count;
    if (progress)
      progress(done);
  }
  for (size_t i = 0; i < ports.size(); ++i)
    writer.add(ports[i]->name, results[i]);
  writer.finish();
}

} // namespace mpc::rt
