// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PictureGrid.h"

#include "runtime/core/data/PicturePlugin.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

namespace mpc::rt {

std::optional<ValueRange> ValueRange::parse(const std::string &text) {
  const size_t colon = text.find(':');
  if (colon == text.npos)
    return std::nullopt;
  ValueRange range;
  const char *end = text.data() + text.size(), *middle = text.data() + colon;
  auto low = std::from_chars(text.data(), middle, range.low), high = std::from_chars(middle + 1, end, range.high);
  const bool whole = low.ec == std::errc() && low.ptr == middle && high.ec == std::errc() && high.ptr == end;
  const bool fits = std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high;
  return whole && fits ? std::optional(range) : std::nullopt;
}

static bool isColour(int64_t channels) { return channels == 1 || channels == 3; }

static bool hasPictures(std::span<const int64_t> shape) {
  return shape.size() == 4 && (isColour(shape[1]) || isColour(shape[3]));
}

size_t picturesAmong(const std::vector<const Port *> &outputs, const GridOptions &options) {
  constexpr char kOption[] = "--images";
  std::vector<size_t> found;
  std::string all, names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = *outputs[i];
    all += concat(all.empty() ? "" : ", ", "'", port.name, "' ", toString(port.shape));
    if (!options.output.empty() && port.name != options.output)
      continue;
    if (hasPictures(port.shape)) {
      names += concat(found.empty() ? "" : ", ", port.name);
      found.push_back(i);
    } else if (!options.output.empty()) {
      fail(options.output, concat("has the shape ", toString(port.shape), ", which is not that of pictures"),
           "--images-of takes an output [n,c,h,w] or [n,h,w,c] with c = 1 or 3");
    }
  }
  if (found.empty() && !options.output.empty())
    fail("--images-of", concat("the program has no output '", options.output, "'"), concat("it has ", all));
  if (found.empty())
    fail(kOption, concat("no output is made of pictures [n,c,h,w] or [n,h,w,c] with c = 1 or 3: ", all),
         "compile a network that has one, or leave --images out and take the arrays from --out");
  if (found.size() > 1)
    fail(kOption, concat("several outputs may be pictures: ", names), "choose one by --images-of");
  return found.front();
}

namespace {
/// The sizes of a grid in pixels.
struct Layout {
  int64_t count, columns, channels, height, width, gridHeight, gridWidth;
  bool first; // the channels come before the pixels

  Layout(const Shape &shape, const GridOptions &options);
};

constexpr int64_t kGap = 2; // as torchvision's make_grid
} // namespace

Layout::Layout(const Shape &shape, const GridOptions &options) {
  constexpr int64_t kMostSide = 65'535, kMostPixels = 178'956'970; // of the pictures that the plugin reads
  first = isColour(shape[1]);
  channels = shape[first ? 1 : 3];
  height = shape[first ? 2 : 1];
  width = shape[first ? 3 : 2];
  count = std::min(shape[0], options.count);
  if (count == 0 || height == 0 || width == 0)
    fail(options.file, concat("would have no pixel: the pictures are ", toString(shape)),
         "leave --images out, or give data");
  columns = std::min(count, options.columns);
  const int64_t rows = (count + columns - 1) / columns;
  const int64_t tooMany = kMostSide + 1; // stands for all larger numbers, whose products might overflow
  gridWidth = std::min(width, tooMany) * std::min(columns, tooMany) + kGap * (columns - 1);
  gridHeight = std::min(height, tooMany) * std::min(rows, tooMany) + kGap * (rows - 1);
  if (gridWidth > kMostSide || gridHeight > kMostSide || gridWidth * gridHeight > kMostPixels)
    fail(options.file,
         concat("would have ", gridWidth, " x ", gridHeight, " pixels, more than readers of PNG files take"),
         "lower --images-count, or change --images-columns");
}

void PictureGrid::check(const Shape &shape, const GridOptions &options) { Layout(shape, options); }

PictureGrid PictureGrid::of(const Tensor &pictures, const GridOptions &options) {
  const auto [count, columns, channels, height, width, gridHeight, gridWidth, first] = Layout(pictures.shape, options);
  PictureGrid grid;
  grid.width = int32_t(gridWidth);
  grid.height = int32_t(gridHeight);
  grid.channels = int32_t(channels);
  grid.pixels.resize(size_t(gridWidth * gridHeight * channels));
  const size_t values = size_t(count * channels * height * width);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (size_t i = 0; i < values; ++i) {
    const double value = pictures.at(i);
    grid.nonFinite += !std::isfinite(value);
    low = std::isfinite(value) ? std::min(low, value) : low;
    high = std::isfinite(value) ? std::max(high, value) : high;
  }
  grid.equal = !(low < high); // or none is finite
  if (grid.equal)
    high = (low = std::isfinite(low) ? low : 0) + 1;
  grid.range = options.range.value_or(ValueRange{low, high});

  const double scale = 255 / (grid.range.high - grid.range.low);
  auto byteOf = [&](double value) {
    return std::isfinite(value) ? uint8_t(std::lround(std::clamp((value - grid.range.low) * scale, 0.0, 255.0)))
                                : uint8_t(0);
  };
  for (int64_t n = 0; n < count; ++n)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t from =
              first ? ((n * channels + c) * height + y) * width + x : ((n * height + y) * width + x) * channels + c;
          const int64_t row = n / columns * (height + kGap) + y, column = n % columns * (width + kGap) + x;
          grid.pixels[size_t((row * gridWidth + column) * channels + c)] = byteOf(pictures.at(size_t(from)));
        }
  return grid;
}

void PictureGrid::write(AtomicFile &file, const mpc_data_plugin &plugin) const {
  const mpc_picture picture{width, height, channels, int64_t(width) * channels, pixels.data()};
  uint8_t *bytes = nullptr;
  size_t count = 0;
  mpc_data_error error = {};
  if (plugin.encode_png(&picture, &bytes, &count, &error) != 0)
    failAs(error);
  const std::unique_ptr<uint8_t, decltype(&std::free)> owned(bytes, std::free);
  file.write(bytes, count);
  file.commit();
}

} // namespace mpc::rt
