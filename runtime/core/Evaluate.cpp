// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Evaluate.h"

#include "runtime/core/FreshNumbers.h"
#include "runtime/core/OwnSequence.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/data/PicturePlugin.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"

#include <cmath>
#include <cstdio>
#include <map>

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

/// Returns "null" for infinity and NaN, which JSON does not have.
static std::string jsonNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::isfinite(value) ? text : "null";
}

static std::string jsonTable(const std::vector<std::vector<int64_t>> &table) {
  std::string text = "[";
  for (const auto &row : table) {
    text += text.size() > 1 ? ", [" : "[";
    for (size_t c = 0; c < row.size(); ++c)
      text += concat(c == 0 ? "" : ", ", row[c]);
    text += "]";
  }
  return text + "]";
}

std::string Evaluation::asJson(const std::string &more) const {
  std::string text = concat("{\"samples\": ", samples);
  if (loss)
    text += concat(", \"loss\": ", jsonNumber(*loss), ", \"loss_samples\": ", lossSamples);
  for (const MetricResult &metric : metrics) {
    auto add = [&](const char *what, const std::string &value) {
      text += concat(", ", json(metric.name + what).dump(), ": ", value);
    };
    add("", metric.table.empty() ? jsonNumber(metric.value) : jsonTable(metric.table));
    if (metric.correct)
      add("_correct", concat(*metric.correct));
    if (metric.errors)
      add("_errors", concat(*metric.errors));
    add("_counted", concat(metric.counted));
    if (metric.columns)
      add("_classes", concat(metric.columns->first));
    if (metric.nan > 0)
      add("_nan", concat(metric.nan));
  }
  return text + more + "}\n";
}

std::string Evaluation::asText() const {
  std::string text = concat("samples: ", samples, "\n");
  if (loss)
    text += lossText("loss", ": ") + "\n";
  for (const MetricResult &metric : metrics)
    if (metric.table.empty())
      text += metric.text(": ") + "\n";
  for (const MetricResult &metric : metrics)
    text += metric.tableText();
  return text;
}

Evaluation evaluate(Session &session, const Dataset &data, const ProgressSink &progress,
                    const volatile std::sig_atomic_t *interrupted) {
  const Entry &entry = session.entryOfKind("eval");
  const Port *sampleLoss = entry.outputOfRole("sample_loss"), *sampleWeight = entry.outputOfRole("sample_weight"),
             *batchLoss = entry.outputOfRole("loss");
  std::vector<RunningMetric> metrics;
  metrics.reserve(session.manifest().metrics.size());     // each may look at the one before it
  std::map<const Port *, std::vector<std::byte>> targets; // several metrics may share a target, or scores
  std::map<const Port *, Tensor> scores;
  for (const Metric &metric : session.manifest().metrics) {
    const RunningMetric &added = metrics.emplace_back(metric, entry, metrics.empty() ? nullptr : &metrics.back());
    for (const Port *port : {&added.targets(), &added.more()})
      targets[port].resize(size_t(elementsOf(port->shape)) * sizeOf(port->dtype));
    scores[&added.scores()];
    scores[&added.boxes()];
  }
  Batches batches(data, {&entry}, {});
  FreshNumbers numbers(session);
  OwnSequence sequence(session);
  Evaluation result;
  double lossSum = 0, weightSum = 0;
  while (const Batches::Batch *batch = batches.next()) {
    if (interrupted && *interrupted) {
      result.interrupted = true;
      break;
    }
    batches.load(*batch, session, entry);
    // The run may overwrite the inputs, so the targets are read before it.
    for (auto &[port, bytes] : targets)
      session.read(*port, bytes.data());
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
    for (auto &[port, tensor] : scores)
      tensor = session.read(*port);
    for (RunningMetric &metric : metrics)
      metric.add(scores[&metric.scores()], scores[&metric.boxes()], targets[&metric.targets()].data(),
                 targets[&metric.more()].data(), batch->count, data.batch());
    result.samples += batch->count;
    if (progress)
      progress(result.samples);
  }
  if (sampleLoss || batchLoss)
    result.loss = lossSum / weightSum; // NaN when no sample counts
  for (const RunningMetric &metric : metrics)
    result.metrics.push_back(metric.result());
  return result;
}

/// Writes the pictures, and returns what a user should know of them.
static std::string writePictures(const Tensor &pictures, const GridOptions &options, AtomicFile &file,
                                 const mpc_data_plugin &plugin) {
  const PictureGrid grid = PictureGrid::of(pictures, options);
  grid.write(file, plugin);
  std::string text;
  if (!options.range)
    text = concat(options.file, ": black is ", grid.range.low, " and white is ", grid.range.high,
                  grid.equal ? ": all values are equal" : ", the least and the largest value", " (--images-range)");
  if (grid.nonFinite > 0)
    text += concat(text.empty() ? options.file + ": " : "; ", grid.nonFinite, " values are not finite, and black");
  return text;
}

std::vector<std::string> predict(Session &session, const Dataset &data, const PredictOptions &options,
                                 const ProgressSink &progress) {
  const Entry &entry = session.entryOfKind("predict");
  // Files come first, so that an unwritable path is an error before any work is done.
  std::optional<NpzWriter> writer;
  if (!options.out.empty())
    writer.emplace(options.out);
  std::optional<AtomicFile> picture;
  const mpc_data_plugin *plugin = nullptr;
  if (!options.pictures.file.empty()) {
    plugin = picturePlugin("--images", options.installation);
    picture.emplace(options.pictures.file);
  }
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
  const size_t pictures = picture ? picturesAmong(ports, options.pictures) : 0;
  if (picture)
    PictureGrid::check(results[pictures].shape, options.pictures);
  std::optional<DrawnBoxes> boxes;
  if (!options.boxes.folder.empty())
    boxes.emplace(session.manifest(), ports, data, options.boxes);
  Batches batches(data, {&entry}, {});
  FreshNumbers numbers(session);
  OwnSequence sequence(session);
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
  for (size_t i = 0; writer && i < ports.size(); ++i)
    writer->add(ports[i]->name, results[i]);
  if (writer)
    writer->finish();
  std::vector<std::string> notes;
  if (picture)
    notes.push_back(writePictures(results[pictures], options.pictures, *picture, *plugin));
  if (boxes)
    notes.push_back(boxes->draw(results, [&](int64_t drawn) {
      if (progress)
        progress(done + drawn);
    }));
  return notes;
}

} // namespace mpc::rt
