// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/DrawBoxes.h"

#include "runtime/images/Drawing.h"
#include "runtime/images/Png.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <span>
#include <sys/stat.h>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// Throws Error where a picture that is read lies in the folder: what is written would replace it.
static void checkApart(const Source &source, const std::string &folder) {
  struct stat target, read;
  if (stat(folder.c_str(), &target) != 0)
    return;               // writing will say so
  std::string last = "/"; // the folder of the picture before
  for (int64_t i = 0; i < source.samples(); ++i) {
    if (source.sample(i).archive >= 0)
      continue;
    const std::string path = source.path(source.sample(i));
    const size_t slash = path.rfind('/') + 1; // npos + 1 is 0
    std::string above = slash == 0 ? "." : path.substr(0, slash);
    if (above == last)
      continue;
    last = std::move(above);
    if (stat(last.c_str(), &read) == 0 && read.st_dev == target.st_dev && read.st_ino == target.st_ino)
      fail(folder, "has pictures that are read, so none can be written there", "name another folder");
  }
}

/// Returns the name of a sample's file without its end: that of its picture, or its number in an array.
static std::string stemOf(const Source *source, int64_t sample) {
  if (source)
    return source->stem(sample);
  char number[32];
  std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(sample));
  return number;
}

static std::string captionOf(const mpc_found_box &box, const std::vector<std::string> &names) {
  char score[32];
  std::snprintf(score, sizeof score, " %.2f", double(box.score));
  const auto label = size_t(box.label);
  return (label < names.size() ? names[label] : concat(box.label)) + score;
}

static void write(const Canvas &canvas, const std::string &path) {
  const auto [width, height] = canvas.size();
  const mpc_picture picture{width, height, 3, int64_t(width) * 3, canvas.pixels().data()};
  size_t bytes = 0;
  const std::unique_ptr<uint8_t, decltype(&std::free)> png(encodePng(picture, bytes), std::free);
  rt::AtomicFile file(path);
  file.write(png.get(), bytes);
  file.commit();
}

static std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    lines.emplace_back(text.substr(0, end));
  return lines;
}

void drawBoxes(Maker &maker, const mpc_box_drawing &drawing) {
  const std::string folder = drawing.folder;
  const int channels = maker.channels();
  if (channels != 1 && channels != 3)
    fail(folder, concat("cannot get pictures of ", channels, " channels"), "give pictures of 1 or 3 channels");
  if (maker.source())
    checkApart(*maker.source(), folder);
  const std::vector<std::string> names = linesOf(drawing.class_names);
  std::vector<uint8_t> planes(size_t(channels) * size_t(maker.size().width) * size_t(maker.size().height));
  std::set<std::string> taken;
  const mpc_found_box *next = drawing.boxes;
  for (int64_t sample = 0; sample < drawing.samples; ++sample) {
    const std::span<const mpc_found_box> boxes(next, size_t(drawing.counts[sample]));
    next += boxes.size();
    maker.make(sample, mpc_draw{}, planes.data());
    Canvas canvas(planes.data(), channels, maker.size());
    // The best box is drawn last, so that no other covers it, and captions lie above all frames.
    std::vector<const mpc_found_box *> drawn;
    for (size_t i = boxes.size(); i-- > 0;)
      if (canvas.frame(boxes[i].corners, colourOf(boxes[i].label)))
        drawn.push_back(&boxes[i]);
    for (const mpc_found_box *box : drawn)
      canvas.caption(box->corners, colourOf(box->label), captionOf(*box, names));
    const std::string stem = stemOf(maker.source(), sample);
    std::string name = stem;
    for (int i = 2; !taken.insert(name).second; ++i)
      name = concat(stem, "-", i);
    write(canvas, concat(folder, "/", name, ".png"));
    if (drawing.progress)
      drawing.progress(drawing.state, sample + 1);
  }
}

} // namespace mpc::images
