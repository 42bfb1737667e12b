// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes of COCO's object detection format: one JSON file with `images`, `annotations` and `categories`
// (cocodataset.org/#format-data). A `bbox` is [x, y, width, height] in pixels from the left upper corner.
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Source.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"

#include <algorithm>
#include <sys/stat.h>
#include <unordered_map>

namespace mpc::images {

using rt::concat;
using rt::fail;
using rt::json;

namespace {
constexpr char kForm[] = "give an instances file of COCO: images with id and file_name, annotations with image_id, "
                         "category_id and bbox, categories with id and name";

/// Reads the members of one object, `path: annotations[3]`.
struct Item {
  const std::string &path;
  const char *list;
  size_t index;
  const json &value;

  std::string where() const { return concat(path, ": ", list, "[", index, "]"); }
  [[noreturn]] void refuse(const char *key, const char *what) const {
    fail(where(), concat("has no ", key, " that is ", what), kForm);
  }
  const json *find(const char *key) const {
    if (!value.is_object())
      fail(where(), "is no object", kForm);
    auto at = value.find(key);
    return at == value.end() ? nullptr : &*at;
  }
  int64_t integer(const char *key) const {
    const json *at = find(key);
    if (!at || !at->is_number_integer() || (at->is_number_unsigned() && at->get_ref<const uint64_t &>() > INT64_MAX))
      refuse(key, "a whole number");
    return at->get<int64_t>();
  }
  std::string text(const char *key) const {
    const json *at = find(key);
    if (!at || !at->is_string() || at->get_ref<const std::string &>().empty())
      refuse(key, "a text");
    return at->get_ref<const std::string &>();
  }
  /// Returns a side of the picture; 0 where the file does not state it.
  int side(const char *key) const {
    const json *at = find(key);
    if (!at || at->is_null())
      return 0;
    const int64_t side = integer(key);
    if (side < 0 || side > 65535)
      refuse(key, "a number of pixels from 1 to 65535");
    return int(side);
  }
  bool flag(const char *key) const {
    const json *at = find(key);
    return at && (at->is_boolean() ? at->get<bool>() : at->is_number() && at->get<double>() != 0);
  }
  LabelledBox box(int32_t label) const {
    const json *at = find("bbox");
    if (!at || !at->is_array() || at->size() != 4 ||
        !std::all_of(at->begin(), at->end(), [](const json &number) { return number.is_number(); }))
      refuse("bbox", "a list of 4 numbers");
    const double x = (*at)[0].get<double>(), y = (*at)[1].get<double>();
    return {x, y, x + (*at)[2].get<double>(), y + (*at)[3].get<double>(), label};
  }
};

/// Returns where the value behind a list's or an object's first byte ends, or the end of the text.
size_t behindBrackets(std::string_view text, size_t at) {
  for (size_t depth = 0; at < text.size(); ++at) {
    at = std::min(text.find_first_of("[]{}\"", at), text.size() - 1);
    if (text[at] == '"') {
      while (++at < text.size() && text[at] != '"')
        at += text[at] == '\\';
    } else if (text[at] == '[' || text[at] == '{') {
      ++depth;
    } else if ((text[at] == ']' || text[at] == '}') && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

/// Replaces the outlines of objects by 0: they are most of the file, and no box needs them.
void removeOutlines(std::string &text) {
  constexpr std::string_view kKey = "\"segmentation\"";
  size_t to = 0, from = 0;
  for (size_t key; (key = text.find(kKey, from)) != text.npos;) {
    const size_t colon = text.find_first_not_of(" \t\r\n", key + kKey.size());
    size_t value = colon == text.npos || text[colon] != ':' ? text.npos : text.find_first_not_of(" \t\r\n", colon + 1);
    if (value == text.npos || (text[value] != '[' && text[value] != '{'))
      value = key + kKey.size(); // is no key, and stays
    std::copy(text.begin() + ptrdiff_t(from), text.begin() + ptrdiff_t(value), text.begin() + ptrdiff_t(to));
    to += value - from;
    from = value;
    if (text[value] != '[' && text[value] != '{')
      continue;
    const size_t end = behindBrackets(text, value);
    if (end == text.size())
      break; // the file was cut off, which the parser says
    text[to++] = '0';
    from = end;
  }
  text.erase(text.begin() + ptrdiff_t(to), text.begin() + ptrdiff_t(from));
}

json parse(const std::string &path) {
  std::string text = readText(path, "JSON file");
  removeOutlines(text);
  try {
    return json::parse(text);
  } catch (const json::exception &error) {
    const std::string_view what = error.what();
    fail(path, concat("is no JSON, or was cut off: ", what.substr(what.find(']') + 1)), "write it again");
  }
}

class Reading {
public:
  explicit Reading(const std::string &path) : path_(path), file_(parse(path)) {}

  /// Calls `take` for each item of a list.
  template <typename Take>
  void each(const char *list, Take &&take) const {
    auto at = file_.is_object() ? file_.find(list) : file_.end();
    if (!file_.is_object() || at == file_.end() || !at->is_array())
      fail(path_, concat("has no list '", list, "'"), kForm);
    for (size_t i = 0; i < at->size(); ++i)
      take(Item{path_, list, i, (*at)[i]});
  }

private:
  const std::string &path_;
  json file_;
};

/// Numbers the categories in the order of their ids, and returns the numbers by id.
std::unordered_map<int64_t, int32_t> readCategories(const Reading &file, const std::string &path, Source &source) {
  std::vector<std::pair<int64_t, std::string>> categories;
  file.each("categories", [&](const Item &item) { categories.emplace_back(item.integer("id"), item.text("name")); });
  if (int64_t(categories.size()) > kMostClasses)
    fail(path, concat("has ", categories.size(), " categories; at most ", kMostClasses, " are read"), kForm);
  std::sort(categories.begin(), categories.end());
  std::unordered_map<int64_t, int32_t> numbers;
  std::unordered_map<std::string, int64_t> ids;
  std::vector<std::string> names;
  for (auto &[id, name] : categories) {
    checkClassName(name, path);
    if (!numbers.try_emplace(id, int32_t(names.size())).second)
      fail(path, concat("has two categories of the id ", id), "give each category an id of its own");
    if (auto [other, added] = ids.try_emplace(name, id); !added)
      fail(path, concat("has two categories named '", name, "', of the ids ", other->second, " and ", id),
           "give each category a name of its own");
    names.push_back(name);
  }
  source.setClasses(std::move(names));
  return numbers;
}
} // namespace

std::unique_ptr<const Source> openCoco(const std::string &path, const std::string &folder) {
  const Reading file(path);
  std::string root = folder.empty() ? path.substr(0, path.rfind('/') + 1) : folder;
  if (!root.empty() && !root.ends_with('/'))
    root += '/';
  auto source = std::make_unique<Source>(root);
  const std::unordered_map<int64_t, int32_t> categories = readCategories(file, path, *source);
  std::unordered_map<int64_t, int64_t> samples; // by the ids of the pictures
  std::vector<PictureSize> sizes;
  file.each("images", [&](const Item &item) {
    if (!samples.try_emplace(item.integer("id"), source->samples()).second)
      fail(item.where(), concat("has the id ", item.integer("id"), " of an earlier picture"),
           "give each picture an id of its own");
    const std::string name = item.text("file_name");
    if (name.find('\0') != name.npos)
      item.refuse("file_name", "the name of a file");
    source->add(name, -1);
    sizes.push_back({item.side("width"), item.side("height")});
  });
  if (source->samples() == 0)
    fail(path, "names no picture", kForm);
  const std::string first = source->path(source->sample(0));
  struct stat info;
  if (stat(first.c_str(), &info) != 0)
    fail(first, concat("is missing; ", path, " names it"),
         concat("write the folder of the pictures behind a colon: --data ", path, ":FOLDER"));

  int64_t crowds = 0;
  std::vector<std::pair<int64_t, LabelledBox>> boxes; // with their samples
  BoxTable checked(false);
  file.each("annotations", [&](const Item &item) {
    auto sample = samples.find(item.integer("image_id"));
    auto label = categories.find(item.integer("category_id"));
    if (sample == samples.end())
      fail(item.where(), concat("is of the picture ", item.integer("image_id"), ", which is not among the images"),
           "add the picture, or remove the annotation");
    if (label == categories.end())
      fail(item.where(),
           concat("has the category ", item.integer("category_id"), ", which is not among the categories"),
           "add the category, or remove the annotation");
    const LabelledBox box = item.box(label->second);
    if (item.flag("iscrowd"))
      ++crowds;
    else if (checked.add(box, item.where()))
      boxes.emplace_back(sample->second, box);
  });
  std::stable_sort(boxes.begin(), boxes.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  auto table = std::make_unique<BoxTable>(false);
  size_t at = 0;
  for (int64_t sample = 0; sample < source->samples(); ++sample) {
    const std::string where = source->describe(sample);
    for (; at < boxes.size() && boxes[at].first == sample; ++at)
      table->add(boxes[at].second, where);
    table->endSample(sizes[size_t(sample)], where);
  }
  table->complete();
  std::string note;
  addCount(note, crowds, " box of a crowd (iscrowd) is left out", " boxes of crowds (iscrowd) are left out");
  addCount(note, checked.leftOut(), " box without an area is left out", " boxes without an area are left out");
  source->setNote(std::move(note));
  source->setBoxes(std::move(table));
  return source;
}

} // namespace mpc::images
