// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Kinds.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <dirent.h>
#include <string>
#include <sys/stat.h>

namespace mpc::rt {

static constexpr char kReads[] =
    "mpc reads arrays (.npz, .npy, IDX files, plain or .gz) and pictures (a folder, a .tar or a .csv list)";
static constexpr char kPack[] =
    "put all samples into one array for each input, in Python: numpy.savez('data.npz', INPUT=array, ...)";

static bool isData(std::string_view name) {
  for (std::string_view end : {".npz", ".npy", "ubyte", "ubyte.gz", ".idx", ".idx.gz"})
    if (name.ends_with(end))
      return true;
  return false;
}

void refuseFolderOfArrays(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return;
  bool folders = false;
  std::string first; // in the order of the names, so that the message is always the same
  if (DIR *folder = opendir(path.c_str())) {
    while (const dirent *entry = readdir(folder)) {
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
        folders = true;
      if (std::string_view name = entry->d_name; isData(name) && (first.empty() || name < first))
        first = name;
    }
    closedir(folder);
  }
  if (first.empty() || folders) // perhaps of classes, with arrays beside them
    return;
  std::string_view slash = path.ends_with("/") ? "" : "/";
  fail(path, "is a folder of data files", concat("name a file in it, such as ", path, slash, first));
}

namespace {
enum class Kind { Picture, Archive, Table, Other };
struct Magic {
  size_t at;
  std::string_view bytes, name;
  Kind kind;
};
using namespace std::literals;
constexpr Magic kMagics[] = {
    {0, "\xff\xd8\xff"sv, "a JPEG picture", Kind::Picture},
    {0, "\x89PNG"sv, "a PNG picture", Kind::Picture},
    {0, "GIF8"sv, "a GIF picture", Kind::Picture},
    {8, "WEBP"sv, "a WebP picture", Kind::Picture},
    {0, "II*\0"sv, "a TIFF picture", Kind::Picture},
    {0, "MM\0*"sv, "a TIFF picture", Kind::Picture},
    {257, "ustar"sv, "a tar archive whose name does not end in .tar", Kind::Archive},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz archive", Kind::Archive},
    {0, "BZh"sv, "a bzip2 archive", Kind::Archive},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive", Kind::Archive},
    {0, "7z\xbc\xaf"sv, "a 7-Zip archive", Kind::Archive},
    {0, "Rar!"sv, "a RAR archive", Kind::Archive},
    {0, "PK\3\4"sv, "a zip archive without .npy arrays", Kind::Archive},
    {0, "\x89HDF"sv, "an HDF5 file", Kind::Other},
    {0, "PAR1"sv, "a Parquet file", Kind::Table},
    {0, "ARROW1"sv, "an Arrow file", Kind::Table},
    {0, "SQLite format 3"sv, "a SQLite database", Kind::Table},
    {0, "\x80\2"sv, "a Python pickle", Kind::Other},
    {0, "\x80\3"sv, "a Python pickle", Kind::Other},
    {0, "\x80\4"sv, "a Python pickle", Kind::Other},
    {0, "\x80\5"sv, "a Python pickle", Kind::Other},
};
} // namespace

/// Returns whether the first bytes are printable.
static bool isText(std::string_view bytes) {
  bytes = bytes.substr(0, 512);
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c >= 32 || (c >= 9 && c <= 13); });
}

void refuseData(const std::string &path, std::string_view bytes) {
  if (bytes.empty())
    fail(path, "the file is empty", kReads);
  const Magic *found = std::find_if(std::begin(kMagics), std::end(kMagics), [&](const Magic &magic) {
    return bytes.size() > magic.at && bytes.substr(magic.at).starts_with(magic.bytes);
  });
  bool packed = bytes.starts_with("\x1f\x8b");
  Kind kind = found != std::end(kMagics) ? found->kind : isText(bytes) ? Kind::Table : Kind::Other;
  std::string what = "unknown kind of data file";
  if (found != std::end(kMagics))
    what = concat("is ", found->name, ", not an array");
  else if (packed && (path.ends_with(".tar.gz") || path.ends_with(".tgz")))
    what = "is a tar archive, not an array", kind = Kind::Archive;
  else if (packed)
    what = "is not in IDX format, the only one that mpc reads from .gz";
  else if (kind == Kind::Table)
    what = "is text, not an array";
  switch (kind) {
  case Kind::Picture:
    fail(path, what, "name the folder that holds the pictures of all classes, FOLDER/CLASS/NAME.jpg (or .png)");
  case Kind::Archive:
    fail(path, what, concat("unpack it first, and ", kPack));
  case Kind::Table:
    fail(path, what, concat(kReads, "; read it in Python (numpy.loadtxt for numbers, pandas for tables), and ", kPack));
  default:
    fail(path, what, concat(kReads, "; ", kPack));
  }
}

} // namespace mpc::rt
