// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where pictures come from: a folder, a list, tar archives, or annotations with boxes.
#pragma once

#include "runtime/images/Boxes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::images {

class ClassNames;

/// A tar archive as it was when it was indexed.
struct Archive {
  std::string path;
  int64_t bytes, modified;
};

/// Which pictures there are, and their classes. It does not change after it was opened, so threads may share it.
class Source {
public:
  /// Opens a folder, a list, archives or annotations, by what the path names. Throws Error.
  static std::unique_ptr<const Source> open(const std::string &path);
  /// Returns whether the path names something that open() may read.
  static bool recognizes(const std::string &path);

  /// One picture. 32 bytes and its name are kept for each.
  struct Sample {
    uint64_t name;        ///< where its name begins in the text of all names
    int64_t offset;       ///< where the file begins in its archive
    int64_t bytes;        ///< the file's bytes in the archive
    int32_t archive = -1; ///< -1: a file of its own
    int32_t label = -1;   ///< -1: the samples have no classes
  };

  int64_t samples() const { return int64_t(samples_.size()); }
  const Sample &sample(int64_t index) const { return samples_[size_t(index)]; }
  const std::vector<std::string> &classes() const { return classes_; }
  const Archive &archive(int32_t index) const { return archives_[size_t(index)]; }
  /// Returns the boxes of all samples, or null where the pictures have none.
  const BoxTable *boxes() const { return boxes_.get(); }
  /// Returns the path of a sample that is a file of its own.
  std::string path(const Sample &sample) const;
  /// Returns where the sample comes from: its path, or "ARCHIVE: MEMBER".
  std::string describe(int64_t index) const;
  /// Returns the name of the sample's file without its folders and its end.
  std::string stem(int64_t index) const;
  /// Returns what a user should know, or an empty text.
  const std::string &note() const { return note_; }

  // These build a source.
  /// `folder`: names that do not begin with '/' are relative to it; it ends with '/' or is empty.
  explicit Source(std::string folder) : folder_(std::move(folder)) {}
  void add(std::string_view name, int32_t label) { add(name, {0, 0, -1, -1, label}); }
  void add(std::string_view name, Sample sample);
  int32_t addArchive(Archive archive);
  void setClasses(std::vector<std::string> names) { classes_ = std::move(names); }
  /// The table has as many samples as the source.
  void setBoxes(std::unique_ptr<const BoxTable> boxes) { boxes_ = std::move(boxes); }
  void setNote(std::string text) { note_ = std::move(text); }
  /// Replaces each label by its entry in `labels`.
  void renumber(const std::vector<int32_t> &labels);

private:
  const char *name(const Sample &sample) const { return names_.c_str() + sample.name; }

  std::string folder_, note_;
  std::string names_; // each name ends with a zero byte
  std::vector<Sample> samples_;
  std::vector<Archive> archives_;
  std::vector<std::string> classes_;
  std::unique_ptr<const BoxTable> boxes_;
};

// What Source::open calls.
std::unique_ptr<const Source> openFolder(const std::string &path);
std::unique_ptr<const Source> openList(const std::string &path);
std::unique_ptr<const Source> openArchives(const std::vector<std::string> &paths);
/// `folder`: where the pictures lie; empty: beside the file.
std::unique_ptr<const Source> openCoco(const std::string &path, const std::string &folder);
std::unique_ptr<const Source> openYolo(const std::string &path);
/// `set`: the list in ImageSets/Main without its .txt; empty: all annotations.
std::unique_ptr<const Source> openVoc(const std::string &path, const std::string &set);
/// Reads the boxes of one file as those of the table's next sample, and completes it. Classes are numbered by
/// `classes`. `picture` is the sample's, for messages. Throws Error.
void readVoc(const std::string &path, const std::string &picture, BoxTable &table, ClassNames &classes);
/// Adds the boxes of one file to the table's next sample. `classes`: how many there are; 0: nobody says it. Returns the
/// largest number of a class, or -1. Throws Error.
int64_t readYolo(const std::string &path, BoxTable &table, int64_t classes);
/// Each returns whether the folder is one of these layouts.
bool isYolo(const std::string &path);
bool isVoc(const std::string &path);

} // namespace mpc::images
