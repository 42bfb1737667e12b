// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface of mpc/data.h. No exception leaves it.
#include "runtime/images/ClassNames.h"
#include "runtime/images/DrawBoxes.h"
#include "runtime/images/Png.h"
#include "runtime/images/Reader.h"
#include "runtime/images/Source.h"
#include "runtime/images/augment/ArrayPictures.h"
#include "runtime/images/augment/FilePictures.h"
#include "runtime/images/augment/Maker.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

// These headers need <cstdio>.
#include <jpeglib.h>
#include <spng.h>

namespace mpc::images {
namespace {

/// Copies a text without control characters, since names of files go to terminals. Of a text that is too long, the
/// beginning is kept, or the end, where a path says most.
void copy(char *to, size_t room, std::string_view text, bool keepEnd = false) {
  if (room == 0)
    return;
  constexpr std::string_view kDots = "...";
  bool cut = text.size() >= room;
  size_t dots = cut ? std::min(kDots.size(), room - 1) : 0, keep = std::min(text.size(), room - 1 - dots);
  text = keepEnd ? text.substr(text.size() - keep) : text.substr(0, keep);
  if (keepEnd)
    to = std::copy_n(kDots.begin(), dots, to);
  to = std::transform(text.begin(), text.end(), to, [](char c) { return uint8_t(c) < ' ' || c == '\x7f' ? '?' : c; });
  if (!keepEnd)
    to = std::copy_n(kDots.begin(), dots, to);
  *to = '\0';
}

/// Runs `work` and returns whether it succeeded; otherwise fills `error`. An error without a place is at `where()`.
bool succeeds(mpc_data_error *error, rt::FunctionRef<void()> work, rt::FunctionRef<std::string()> where) {
  std::optional<rt::Error> failed = rt::attempt(work);
  if (!failed)
    return true;
  std::string place = failed->where();
  if (place.empty())
    rt::attempt([&] { place = where(); }); // without memory, the place stays empty
  copy(error->where, sizeof error->where, place, true);
  copy(error->what, sizeof error->what, failed->clause());
  copy(error->hint, sizeof error->hint, failed->hint());
  return false;
}

const Source &unwrap(const mpc_data_source *source) { return *reinterpret_cast<const Source *>(source); }
Reader &unwrap(mpc_data_reader *reader) { return *reinterpret_cast<Reader *>(reader); }

int recognizes(const char *path) {
  bool known = false;
  rt::attempt([&] { known = Source::recognizes(path); });
  return known;
}

mpc_data_source *open(const char *path, mpc_data_error *error) {
  std::unique_ptr<const Source> source;
  succeeds(error, [&] { source = Source::open(path); }, [&] { return std::string(path); });
  return reinterpret_cast<mpc_data_source *>(const_cast<Source *>(source.release()));
}

void close(mpc_data_source *source) { delete &unwrap(source); }

int64_t samples(const mpc_data_source *source) { return unwrap(source).samples(); }
int64_t classes(const mpc_data_source *source) { return int64_t(unwrap(source).classes().size()); }
const char *className(const mpc_data_source *source, int64_t index) {
  return unwrap(source).classes()[size_t(index)].c_str();
}
int64_t label(const mpc_data_source *source, int64_t sample) { return unwrap(source).sample(sample).label; }
int numberClasses(const mpc_data_source *source, const char *path, const char *known, int64_t *numbers,
                  mpc_data_error *error) {
  auto work = [&] {
    const std::vector<int64_t> found = numbersAmong(unwrap(source).classes(), known, path);
    std::copy(found.begin(), found.end(), numbers);
  };
  return succeeds(error, work, [&] { return std::string(path); }) ? 0 : -1;
}
int hasBoxes(const mpc_data_source *source) { return unwrap(source).boxes() != nullptr; }
void describe(const mpc_data_source *source, int64_t sample, char *where, size_t bytes) {
  if (bytes > 0)
    *where = '\0';
  rt::attempt([&] { copy(where, bytes, unwrap(source).describe(sample), true); });
}

void note(const mpc_data_source *source, char *text, size_t bytes) { copy(text, bytes, unwrap(source).note()); }

int checkSteps(const char *steps, const char *option, char *normal, size_t bytes, mpc_data_error *error) {
  auto check = [&] {
    const std::string text = PictureSteps::parse(steps, option).text();
    if (text.size() >= bytes)
      rt::fail(option, "has too many steps", "write fewer");
    std::memcpy(normal, text.c_str(), text.size() + 1);
  };
  return succeeds(error, check, [&] { return std::string(option); }) ? 0 : -1;
}

mpc_picture_maker *openMaker(const mpc_data_source *source, const mpc_picture_array *array,
                             const mpc_picture_input *input, mpc_data_error *error) {
  Maker *maker = nullptr;
  auto open = [&] {
    std::unique_ptr<Pictures> pictures;
    if (array)
      pictures = std::make_unique<ArrayPictures>(*array);
    else
      pictures = std::make_unique<FilePictures>(unwrap(source));
    maker = new Maker(std::move(pictures), *input);
  };
  succeeds(error, open, [&] { return std::string(array ? array->name : ""); });
  return reinterpret_cast<mpc_picture_maker *>(maker);
}

Maker &unwrap(mpc_picture_maker *maker) { return *reinterpret_cast<Maker *>(maker); }
void closeMaker(mpc_picture_maker *maker) { delete &unwrap(maker); }

int make(mpc_picture_maker *handle, int64_t sample, const mpc_draw *draw, uint8_t *planes, mpc_data_error *error) {
  Maker &maker = unwrap(handle);
  auto work = [&] { maker.make(sample, *draw, planes); };
  return succeeds(error, work, [&] { return maker.describe(); }) ? 0 : -1;
}

int checkBoxes(const mpc_data_source *source, const char *transform, int64_t room, char *note, size_t bytes,
               mpc_data_error *error) {
  auto check = [&] { copy(note, bytes, checkRoom(unwrap(source), PictureSteps::parse(transform, kTransform), room)); };
  return succeeds(error, check, [] { return std::string(); }) ? 0 : -1;
}

int64_t makeBoxes(mpc_picture_maker *handle, int64_t sample, const mpc_draw *draw, int64_t room, float *corners,
                  int64_t *labels, mpc_data_error *error) {
  Maker &maker = unwrap(handle);
  int64_t count = -1;
  auto work = [&] { count = maker.makeBoxes(sample, *draw, room, corners, labels); };
  succeeds(error, work, [&] { return maker.describe(); });
  return count;
}

int draw(mpc_picture_maker *handle, const mpc_box_drawing *drawing, mpc_data_error *error) {
  Maker &maker = unwrap(handle);
  auto work = [&] { drawBoxes(maker, *drawing); };
  return succeeds(error, work, [&] { return maker.describe(); }) ? 0 : -1;
}

mpc_data_reader *openReader(const mpc_data_source *source) {
  Reader *reader = nullptr;
  rt::attempt([&] { reader = new Reader(unwrap(source)); });
  return reinterpret_cast<mpc_data_reader *>(reader);
}

void closeReader(mpc_data_reader *reader) { delete &unwrap(reader); }

int look(mpc_data_reader *handle, int64_t sample, mpc_picture_size *size, mpc_data_error *error) {
  Reader &reader = unwrap(handle);
  return succeeds(error, [&] { *size = reader.look(sample); }, [&] { return reader.describe(); }) ? 0 : -1;
}

int decode(mpc_data_reader *handle, int32_t channels, int32_t leastWidth, int32_t leastHeight, mpc_picture *picture,
           mpc_data_error *error) {
  Reader &reader = unwrap(handle);
  return succeeds(
             error, [&] { *picture = reader.decode(channels, leastWidth, leastHeight); },
             [&] { return reader.describe(); })
             ? 0
             : -1;
}

int encode(const mpc_picture *picture, uint8_t **png, size_t *bytes, mpc_data_error *error) {
  auto work = [&] { *png = encodePng(*picture, *bytes); };
  return succeeds(error, work, [] { return std::string("picture"); }) ? 0 : -1;
}

#define MPC_TEXT(macro) MPC_QUOTE(macro)
#define MPC_QUOTE(text) #text
} // namespace
} // namespace mpc::images

extern "C" [[gnu::visibility("default")]] const mpc_data_plugin *mpc_data_entry() {
  using namespace mpc::images;
  static char name[96];
  static const mpc_data_plugin plugin = [] {
    std::snprintf(name, sizeof name, "pictures (libjpeg-turbo %s, libspng %s)", MPC_TEXT(LIBJPEG_TURBO_VERSION),
                  spng_version_string());
    return mpc_data_plugin{MPC_DATA_ABI, name,      recognizes,    open,     close,     samples,  classes,
                           className,    label,     numberClasses, describe, note,      hasBoxes, checkBoxes,
                           checkSteps,   openMaker, closeMaker,    make,     makeBoxes, draw,     openReader,
                           closeReader,  look,      decode,        encode};
  }();
  return &plugin;
}
