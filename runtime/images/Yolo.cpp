// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes of YOLO's text format: for images/**/NAME.jpg there is labels/**/NAME.txt with a line `class cx cy width
// height` for each box: its centre and size as shares of the picture's (docs.ultralytics.com/datasets/detect).
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Folder.h"
#include "runtime/images/YamlNames.h"
#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <charconv>
#include <sys/stat.h>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
constexpr char kLine[] =
    "write a line 'class cx cy width height' for each box, as shares of the picture's width and height";

/// The folders of a layout; each ends with '/'.
struct Layout {
  std::string root, images, labels;
};

std::string withSlash(const std::string &path) { return path.ends_with('/') ? path : path + "/"; }

/// Returns the folders that `path` means: it holds `images` and `labels`, or is within a folder `images` beside whose
/// `labels` there is the same folder. Returns empty texts where it does not.
Layout layoutOf(const std::string &path) {
  const std::string folder = withSlash(path);
  if (isFolder(folder + "images") && isFolder(folder + "labels"))
    return {folder, folder + "images/", folder + "labels/"};
  constexpr std::string_view kImages = "images/";
  const size_t at = folder.rfind(kImages);
  if (at == folder.npos || (at > 0 && folder[at - 1] != '/'))
    return {};
  const std::string root = folder.substr(0, at), labels = root + "labels/" + folder.substr(at + kImages.size());
  return isFolder(folder) && isFolder(labels) ? Layout{root, folder, labels} : Layout{};
}

/// Returns the names of the classes: those of classes.txt, or of a YAML file in the root, or of data.yaml above it. No
/// names: the classes have numbers alone.
std::vector<std::string> namesOf(const Layout &layout) {
  std::vector<std::string> names;
  auto take = [&](const std::string &path) {
    names = yamlNames(path, readText(path, "YAML file"));
    return !names.empty();
  };
  for (const std::string &name : filesIn(layout.root.empty() ? "./" : layout.root)) {
    const std::string path = layout.root + name;
    if (name == "classes.txt") {
      const std::string text = readText(path, "list");
      for (std::string_view line : rt::split(text, '\n')) {
        if (const size_t last = line.find_last_not_of(" \t\r"); last != line.npos)
          names.emplace_back(line.substr(0, last + 1));
      }
      break;
    }
    if ((name.ends_with(".yaml") || name.ends_with(".yml")) && take(path))
      break;
  }
  struct stat info;
  const std::string above = layout.root + "../data.yaml";
  if (names.empty() && stat(above.c_str(), &info) == 0)
    take(above);
  for (const std::string &name : names)
    checkClassName(name, layout.root);
  if (int64_t(names.size()) > kMostClasses)
    fail(layout.root, concat("names ", names.size(), " classes; at most ", kMostClasses, " are read"), kLine);
  return names;
}

/// Reads the boxes of one file.
class Labels {
public:
  Labels(BoxTable &table, int64_t classes) : table_(table), classes_(classes) {}

  void read(const std::string &path) {
    const std::string text = readText(path, "list");
    int64_t number = 0;
    for (std::string_view line : rt::split(text, '\n')) {
      ++number;
      if (line.find_first_not_of(" \t\r") != line.npos)
        readLine(line, concat(path, ":", number));
    }
  }
  int64_t most() const { return most_; }

private:
  void readLine(std::string_view line, const std::string &where) {
    double values[5];
    size_t count = 0;
    for (;; ++count) {
      const size_t begin = line.find_first_not_of(" \t\r");
      if (begin == line.npos)
        break;
      line.remove_prefix(begin);
      const std::string_view field = line.substr(0, line.find_first_of(" \t\r"));
      line.remove_prefix(field.size());
      double value = 0;
      auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
      if (error != std::errc() || end != field.data() + field.size())
        fail(where, concat("has '", field, "', which is no number"), kLine);
      if (count < 5)
        values[count] = value;
    }
    if (count != 5)
      fail(where, concat("has ", count, count == 1 ? " number" : " numbers", ", not 5"), kLine);
    const auto [label, x, y, width, height] = values;
    const int64_t known = classes_ > 0 ? classes_ : kMostClasses;
    if (!(label >= 0 && label < double(known)) || label != double(int64_t(label)))
      fail(where, concat("has the class ", label, "; the classes are 0 to ", known - 1),
           classes_ > 0 ? "add the name of the class, or correct the number" : "number the classes from 0");
    constexpr double kRounding = 0.01; // ultralytics tolerates as much
    for (double value : {x, y, width, height})
      if (!(value >= -kRounding && value <= 1 + kRounding))
        fail(where, concat("has ", value, ", which is no share from 0 to 1"), kLine);
    if (width < 0 || height < 0)
      fail(where, concat("has a box of negative size, ", width, " x ", height), kLine);
    most_ = std::max(most_, int64_t(label));
    table_.add({x - width / 2, y - height / 2, x + width / 2, y + height / 2, int32_t(label)}, where);
  }

  BoxTable &table_;
  int64_t classes_, most_ = -1;
};
} // namespace

int64_t readYolo(const std::string &path, BoxTable &table, int64_t classes) {
  Labels labels(table, classes);
  labels.read(path);
  return labels.most();
}

bool isYolo(const std::string &path) { return !layoutOf(path).images.empty(); }

std::unique_ptr<const Source> openYolo(const std::string &path) {
  const Layout layout = layoutOf(path);
  auto source = std::make_unique<Source>(layout.images);
  std::string note = addPicturesIn(layout.images, *source);
  if (source->samples() == 0)
    fail(layout.images, "holds no picture", "name a folder with JPEG or PNG files in images, and labels beside it");
  std::vector<std::string> names = namesOf(layout);
  auto table = std::make_unique<BoxTable>(true);
  int64_t without = 0, most = -1;
  std::string first; // label file that is missing
  for (int64_t sample = 0; sample < source->samples(); ++sample) {
    const std::string picture = source->describe(sample);
    std::string file = layout.labels + picture.substr(layout.images.size());
    file.replace(file.rfind('.'), file.npos, ".txt");
    struct stat info;
    if (stat(file.c_str(), &info) == 0) {
      most = std::max(most, readYolo(file, *table, int64_t(names.size())));
    } else {
      first = without++ == 0 ? file : first;
    }
    table->endSample({}, picture);
  }
  if (without == source->samples())
    fail(first, "is missing, and no other picture has a file of labels",
         "write a line 'class cx cy width height' for each box into it");
  if (names.empty())
    for (int64_t i = 0; i <= most; ++i)
      names.push_back(concat(i));
  table->complete();
  addCount(note, without, " picture has no file of labels, and so no boxes",
           " pictures have no file of labels, and so no boxes");
  addCount(note, table->leftOut(), " box without an area is left out", " boxes without an area are left out");
  source->setNote(std::move(note));
  source->setClasses(std::move(names));
  source->setBoxes(std::move(table));
  return source;
}

} // namespace mpc::images
