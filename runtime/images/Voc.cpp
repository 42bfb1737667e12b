// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes of Pascal VOC: for JPEGImages/NAME.jpg there is Annotations/NAME.xml (Everingham et al., "The PASCAL Visual
// Object Classes Challenge", IJCV 2010). Its coordinates are pixels counted from 1, and xmax and ymax are still in the
// box. As detectron2 does, we subtract 1 from xmin and ymin alone, so that 1 to the width is the whole picture
// (torchvision's VOCDetection gives the numbers as they are).
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Folder.h"
#include "runtime/images/Xml.h"
#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
constexpr char kForm[] = "write <object> with <name> and <bndbox> of <xmin>, <ymin>, <xmax>, <ymax> in pixels from 1";

double numberOf(const XmlReader &xml) {
  const std::string text = xml.value();
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    fail(xml.where(), concat("has '", text, "' in ", xml.path(), ", which is no number"), kForm);
  return value;
}

int sideOf(const XmlReader &xml) {
  const double value = numberOf(xml);
  if (!(value >= 0 && value <= 65535) || value != std::floor(value))
    fail(xml.where(), concat("has ", value, " in ", xml.path(), ", which is no number of pixels"), kForm);
  return int(value);
}

} // namespace

void readVoc(const std::string &path, const std::string &picture, BoxTable &table, ClassNames &classes) {
  const std::string text = readText(path, "XML file");
  XmlReader xml(path, text);
  std::string name;
  std::optional<double> corners[4];
  constexpr const char *kCorners[] = {"annotation/object/bndbox/xmin", "annotation/object/bndbox/ymin",
                                      "annotation/object/bndbox/xmax", "annotation/object/bndbox/ymax"};
  PictureSize size;
  for (XmlReader::Kind kind; (kind = xml.next()) != XmlReader::Done;) {
    const std::string &at = xml.path();
    if (at != "annotation" && !at.starts_with("annotation/"))
      fail(xml.where(), concat("begins with <", at, ">, not with <annotation>"), kForm);
    if (kind == XmlReader::Begin)
      continue;
    auto corner = std::find(std::begin(kCorners), std::end(kCorners), at);
    if (corner != std::end(kCorners)) {
      auto &value = corners[corner - std::begin(kCorners)];
      if (value)
        fail(xml.where(), concat("has a second ", at), kForm);
      value = numberOf(xml);
    } else if (at == "annotation/object/name") {
      name = xml.value();
    } else if (at == "annotation/size/width") {
      size.width = sideOf(xml);
    } else if (at == "annotation/size/height") {
      size.height = sideOf(xml);
    } else if (at == "annotation/object") {
      if (name.empty())
        fail(xml.where(), "ends an object without a name", kForm);
      for (size_t i = 0; i < 4; ++i)
        if (!corners[i])
          fail(xml.where(), concat("ends an object without ", kCorners[i]), kForm);
      table.add({*corners[0] - 1, *corners[1] - 1, *corners[2], *corners[3], classes.add(name)}, xml.where());
      name.clear();
      std::fill(std::begin(corners), std::end(corners), std::nullopt);
    }
  }
  table.endSample(size, picture);
}

namespace {
/// Returns the names of the samples: those of the set's list, or of all annotations.
std::vector<std::string> namesOf(const std::string &root, const std::string &set) {
  std::vector<std::string> names;
  if (set.empty()) {
    for (const std::string &file : filesIn(root + "Annotations/"))
      if (file.ends_with(".xml"))
        names.push_back(file.substr(0, file.size() - 4));
    return names;
  }
  const std::string path = concat(root, "ImageSets/Main/", set, ".txt"), text = readText(path, "list");
  for (std::string_view line : rt::split(text, '\n')) {
    const size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    if (first == line.npos)
      continue;
    line = line.substr(first, last - first + 1);
    if (line.find_first_of(" \t") != line.npos)
      fail(path, concat("has the line '", line, "', which is that of a list for one class"),
           "name the list of all classes, such as train, val or trainval");
    names.emplace_back(line);
  }
  return names;
}
} // namespace

bool isVoc(const std::string &path) { return isFolder(path + "/JPEGImages") && isFolder(path + "/Annotations"); }

std::unique_ptr<const Source> openVoc(const std::string &path, const std::string &set) {
  const std::string root = path.ends_with('/') ? path : path + "/";
  auto source = std::make_unique<Source>(root + "JPEGImages/");
  std::map<std::string, std::string> pictures; // by their names without an end
  for (const std::string &file : filesIn(root + "JPEGImages/"))
    if (isPictureName(file))
      pictures.emplace(file.substr(0, file.rfind('.')), file);
  auto table = std::make_unique<BoxTable>(false);
  ClassNames classes;
  for (const std::string &name : namesOf(root, set)) {
    const std::string annotation = concat(root, "Annotations/", name, ".xml");
    auto picture = pictures.find(name);
    if (picture == pictures.end())
      fail(annotation, concat("has no picture: ", root, "JPEGImages/", name, ".jpg is missing"),
           "add the picture, or remove its annotation and its name in the list");
    source->add(picture->second, -1);
    readVoc(annotation, root + "JPEGImages/" + picture->second, *table, classes);
  }
  if (source->samples() == 0)
    fail(set.empty() ? root + "Annotations" : concat(root, "ImageSets/Main/", set, ".txt"), "names no picture",
         "give an .xml file for each picture");
  if (int64_t(classes.size()) > kMostClasses)
    fail(path, concat("has ", classes.size(), " classes; at most ", kMostClasses, " are read"), kForm);
  std::vector<std::string> names;
  table->renumber(classes.sorted(path, names));
  source->setClasses(std::move(names));
  table->complete();
  std::string note;
  if (set.empty())
    addCount(note, int64_t(pictures.size()) - source->samples(), " picture without annotation is left out",
             " pictures without annotations are left out");
  addCount(note, table->leftOut(), " box without an area is left out", " boxes without an area are left out");
  source->setNote(std::move(note));
  source->setBoxes(std::move(table));
  return source;
}

} // namespace mpc::images
