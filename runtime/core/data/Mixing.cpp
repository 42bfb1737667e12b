// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Mixing.h"

#include "runtime/core/Transpose.h"
#include "runtime/core/data/Dataset.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"
#include "runtime/support/Random.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::rt {

//===-- Which samples are mixed, and how much ---------------------------------------===//

std::string Mixing::text() const {
  std::string text = mixup > 0 ? concat("mixup:", mixup) : "";
  return cutmix > 0 ? concat(text, text.empty() ? "" : ",", "cutmix:", cutmix) : text;
}

Mixing Mixing::take(std::string &steps, const std::string &input) {
  Mixing mixing{input};
  std::string others;
  size_t kept = 0;
  for (std::string_view step : split(steps, ',')) {
    std::vector<std::string_view> parts = split(step, ':');
    double *alpha = parts[0] == "mixup" ? &mixing.mixup : parts[0] == "cutmix" ? &mixing.cutmix : nullptr;
    if (!alpha) {
      others += concat(kept++ == 0 ? "" : ",", step);
      continue;
    }
    if (*alpha > 0)
      fail(kAugment, concat("has '", parts[0], "' twice"), "keep one of them");
    if (parts.size() == 1)
      *alpha = 1; // torchvision's default
    else if (parts.size() == 2)
      *alpha = parseNumber(parts[1], kAugment);
    if (!(*alpha > 0))
      fail(kAugment, concat("'", step, "' does not give one ALPHA above 0, for shares from Beta(ALPHA, ALPHA)"),
           concat("write ", parts[0], "[:ALPHA], such as ", parts[0], ":0.2"));
  }
  steps = others;
  return mixing;
}

// Bailey's polar method (Mathematics of Computation 62, 1994) makes t of Student's distribution with 2 alpha degrees of
// freedom: t^2 = 2 alpha (1/w - 1) cos^2 where w = u^(1/alpha), and (1 + t/sqrt(2 alpha + t^2)) / 2 is Beta(alpha,
// alpha). (L. Devroye, Random variate generation in one line of code, 1996.) With small alpha w may become zero.
double symmetricBeta(double alpha, double first, double second) {
  const double w = std::pow(1 - first, 1 / alpha), cosine = std::cos(2 * M_PI * second);
  const double square = (1 - w) * cosine * cosine;
  return square == 0 ? 0.5 : 0.5 + std::copysign(0.5, cosine) * std::sqrt(square / (w + square));
}

Mix Mixing::draw(uint64_t seed, int64_t epoch, int64_t batch, int64_t height, int64_t width) const {
  const RandomStream random(seed, concat("mixing of batch ", batch, " of epoch ", epoch));
  const bool cuts = cutmix > 0 && (mixup == 0 || random.uniform(0) < 0.5);
  const double own = symmetricBeta(cuts ? cutmix : mixup, random.uniform(1), random.uniform(2));
  if (!cuts)
    return {own};
  // This is torchvision's box: its centre is any pixel, and what would lie outside the picture is cut off.
  const int64_t row = int64_t(random.uniform(3) * double(height)), column = int64_t(random.uniform(4) * double(width));
  const double half = 0.5 * std::sqrt(1 - own);
  const auto halfHeight = int64_t(half * double(height)), halfWidth = int64_t(half * double(width));
  const Box box{std::max<int64_t>(row - halfHeight, 0), std::max<int64_t>(column - halfWidth, 0),
                std::min(row + halfHeight, height), std::min(column + halfWidth, width)};
  return {1 - double((box.bottom - box.top) * (box.right - box.left)) / double(height * width), box};
}

void Dataset::takeMixing(const std::string &input, std::string &steps) {
  const Mixing mixing = Mixing::take(steps, input);
  if (mixing.empty())
    return;
  if (!mixing_.empty())
    fail(kAugment, concat("mixes the samples of '", mixing_.input, "' and of '", input, "'"),
         "mix those of one input: the shares of the labels are its");
  mixing_ = mixing;
}

void Dataset::checkMixing(const std::vector<const Port *> &inputs) const {
  static constexpr char kLeaveOut[] =
      "leave it out; the labels of --loss=softmax_cross_entropy:LOGITS:LABELS,probabilities can be mixed";
  auto refuse = [&](const std::string &what, const std::string &hint) {
    fail(kAugment, concat("'", mixing_.text(), "' mixes ", what), hint);
  };
  if (batch_ < 2)
    refuse("the samples of a batch, and a batch has one", "compile with --batch of at least 2");
  bool labels = false;
  for (const Port *port : inputs) {
    if (!port->batched || port->name == mixing_.input)
      continue;
    labels |= port->takesProbabilities();
    if (port->labelsOf && !port->takesProbabilities())
      refuse(concat("labels, and input '", port->name, "' takes numbers of classes"),
             concat("compile with --loss=softmax_cross_entropy:", port->labelsOf->scores, ":", port->name,
                    ",probabilities"));
    if (!port->takesProbabilities())
      refuse(concat("pictures and probabilities of classes; input '", port->name, "' is neither"), kLeaveOut);
  }
  if (!labels)
    refuse("labels, and the training has none", kLeaveOut);
}

//===-- Mixing ----------------------------------------------------------------------===//

namespace {
/// The part [low, high) of a dimension of a sample.
struct Part {
  int64_t extent, low, high;
};
/// Elements of a sample that lie one after the other.
struct Run {
  int64_t first, count;
};
} // namespace

static constexpr int64_t kMostElements = 1024; // of a run, which threads have a copy of

/// Returns the elements that lie within the parts of all dimensions.
static std::vector<Run> runsOf(const std::vector<Part> &parts) {
  std::vector<Run> runs = {{0, 1}};
  for (const Part &part : parts) {
    // A run that ends where the next one begins becomes a part of it, because the dimension is covered wholly.
    std::vector<Run> finer;
    for (const Run &run : runs)
      if (part.low == 0 && part.high == part.extent)
        finer.push_back({run.first * part.extent, run.count * part.extent});
      else
        for (int64_t i = 0; i < run.count && part.low < part.high; ++i)
          finer.push_back({(run.first + i) * part.extent + part.low, part.high - part.low});
    runs = std::move(finer);
  }
  std::vector<Run> pieces;
  for (const Run &run : runs)
    for (int64_t done = 0; done < run.count; done += kMostElements)
      pieces.push_back({run.first + done, std::min(kMostElements, run.count - done)});
  return pieces;
}

/// Mixes the same elements of all samples. The samples are changed from the last to the first, so that a partner still
/// has its own values; only those of the last one must be kept.
template <typename T>
static void mixRun(std::byte *stored, mpc_dtype dtype, mpc_dtype wide, int64_t samples, int64_t sampleElements,
                   const Run &run, double share) {
  T last[kMostElements], values[2][kMostElements], mixed[kMostElements];
  T *mine = values[0], *partner = values[1];
  auto at = [&](int64_t sample) { return stored + size_t(sample * sampleElements + run.first) * sizeOf(dtype); };
  const auto count = size_t(run.count);
  const T own = T(share), rest = T(1 - share);
  convert(dtype, at(samples - 1), wide, last, count);
  std::memcpy(mine, last, count * sizeof(T));
  for (int64_t sample = samples - 1; sample >= 0; --sample) {
    if (sample > 0)
      convert(dtype, at(sample - 1), wide, partner, count);
    const T *other = sample > 0 ? partner : last;
    for (size_t i = 0; i < count; ++i)
      mixed[i] = own == 0 ? other[i] : own * mine[i] + rest * other[i];
    convert(wide, mixed, dtype, at(sample), count);
    std::swap(mine, partner);
  }
}

void mixSamples(const Port &port, int64_t samples, const Mix &mix, bool pixels, std::byte *stored,
                std::vector<std::byte> &scratch, Threads &threads) {
  const bool cuts = pixels && mix.box, samplesFirst = port.permutation.empty() || port.permutation[0] == 0;
  const int64_t sampleElements = elementsOf(port.shape) / samples;
  std::vector<Part> parts = {{sampleElements, 0, sampleElements}};
  if (cuts) {
    const Box &box = *mix.box;
    const Part logical[] = {
        {port.shape[1], 0, port.shape[1]}, {port.shape[2], box.top, box.bottom}, {port.shape[3], box.left, box.right}};
    parts.clear();
    for (int64_t i = 1; i < 4; ++i)
      parts.push_back(logical[(samplesFirst && !port.permutation.empty() ? port.permutation[size_t(i)] : i) - 1]);
  }
  std::byte *buffer = stored;
  const Transpose order(port.shape, port.permutation);
  if (!samplesFirst) {
    scratch.resize(size_t(elementsOf(port.shape)) * sizeOf(port.dtype));
    buffer = scratch.data();
    order.toLogical(stored, buffer, sizeOf(port.dtype));
  }
  struct Work {
    std::vector<Run> runs;
    std::byte *buffer;
    mpc_dtype dtype;
    int64_t samples, sampleElements;
    double own;
  } work{runsOf(parts), buffer, port.dtype, samples, sampleElements, cuts ? 0 : mix.own};
  threads.parallelFor(
      [](void *context, int64_t begin, int64_t end) {
        const Work &work = *static_cast<Work *>(context);
        for (int64_t i = begin; i < end; ++i)
          if (const Run &run = work.runs[size_t(i)]; work.dtype == MPC_F64)
            mixRun<double>(work.buffer, work.dtype, MPC_F64, work.samples, work.sampleElements, run, work.own);
          else
            mixRun<float>(work.buffer, work.dtype, MPC_F32, work.samples, work.sampleElements, run, work.own);
      },
      &work, int64_t(work.runs.size()), /*grain=*/4);
  if (!samplesFirst)
    order.toStored(buffer, stored, sizeOf(port.dtype));
}

} // namespace mpc::rt
