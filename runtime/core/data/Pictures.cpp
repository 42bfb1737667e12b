// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds pictures and their classes to the inputs of a program.
#include "runtime/core/data/Dataset.h"
#include "runtime/core/data/PicturePlugin.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mpc::rt {

bool takesPictures(const Port &port, int64_t batch) {
  return port.batched && isFloat(port.dtype) && !port.labelsOf && port.shape.size() == 4 && port.shape[0] == batch &&
         std::max(port.shape[2], port.shape[3]) <= 65535;
}

/// Returns whether a port may take classes: one integer for each sample, or a probability for each class.
static bool takesClasses(const Port &port, int64_t batch) {
  if (port.takesProbabilities())
    return takesClasses(port.ofClassNumbers(), batch);
  return port.batched && !isFloat(port.dtype) && elementsOf(port.shape) == batch && port.shape[0] == batch;
}

void checkBadSamples(const Manifest &manifest, const DataOptions &options) {
  if (const Variable *state = manifest.carriedState(); state && options.skipBadSamples)
    fail("--bad-samples=skip",
         concat("'", state->userName(),
                "' is carried from each sample to the one in its place of "
                "the next batch"),
         "repair the data; a sample that is left out would move all others");
}

int64_t Dataset::Source::samples() const { return fromFiles ? pictures->samples() : array.shape[0] / rowsPerSample; }

void Dataset::addPictures(const std::shared_ptr<PictureFiles> &files, const std::string &path, const Port &port,
                          const DataOptions &options) {
  const int64_t channels = port.shape[1];
  if (channels != 1 && channels != 3)
    fail(path,
         concat("input '", port.name, "' takes ", channels, " channels ", toString(port.shape),
                "; pictures have 1 or 3"),
         "give arrays in .npz files, or export a network for 1 or 3 channels (channels first)");
  addPart(std::make_shared<PictureInput>(files, Shape(port.shape.begin() + 1, port.shape.end()),
                                         picturePlugin(path, options.installation)),
          PicturePart::Pixels, path, port.name);
}

void Dataset::addPart(std::shared_ptr<PictureInput> pictures, PicturePart part, const std::string &path,
                      const std::string &name) {
  Source source;
  source.array.dtype = part == PicturePart::Pixels ? MPC_U8 : part == PicturePart::Corners ? MPC_F32 : MPC_I64;
  source.where = path;
  source.fromFiles = true;
  source.pictures = std::move(pictures);
  source.part = part;
  add(name, std::move(source));
}

std::string classesText(const std::vector<std::string> &classes) {
  constexpr size_t kShown = 10;
  std::string text = "classes: ";
  for (size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += concat(i == 0 ? "" : ", ", i, " ", classes[i]);
  return classes.size() > kShown ? concat(text, ", … ", classes.size() - 1, " ", classes.back()) : text;
}

std::vector<int64_t> Dataset::classNumbers(const PictureFiles &files, const std::string &path, const Port &port,
                                           const DataOptions &options) {
  const std::vector<std::string> own = files.classes();
  classes_ = options.classes.empty() ? own : options.classes;
  if (own.empty())
    fail(path, concat("its pictures have no classes, and input '", port.name, "' takes them"),
         "put the pictures of each class into a folder of its own, or give a .csv list of path,label");
  for (const Range &range : port.ranges)
    if (int64_t(classes_.size()) > range.below)
      fail(path, concat("has ", classes_.size(), " classes; input '", port.name, "' takes ", range.text()),
           "export a network with as many outputs as there are classes");
  return files.numbersAmong(classes_, path);
}

void Dataset::addClasses(const PictureFiles &files, const std::string &path, const Port &taker,
                         const DataOptions &options) {
  const Port port = taker.takesProbabilities() ? taker.ofClassNumbers() : taker;
  const std::vector<int64_t> numbers = classNumbers(files, path, port, options);
  auto labels = std::make_shared<std::vector<int64_t>>();
  for (int64_t i = 0, count = files.samples(); i < count; ++i)
    labels->push_back(numbers.at(size_t(files.label(i))));
  Source source;
  source.array.dtype = MPC_I64;
  source.array.shape = port.shape;
  source.array.shape[0] = int64_t(labels->size());
  source.array.data = reinterpret_cast<const std::byte *>(labels->data());
  source.array.owner = labels;
  source.where = concat(path, ": class");
  add(port.name, std::move(source));
}

/// Returns the names of ports, each once.
static std::string namesOf(const std::vector<const Port *> &ports) {
  std::string text;
  for (const Port *port : ports)
    text += concat(text.empty() ? "" : ", ", port->name);
  return text;
}

void Dataset::bindPictures(const std::string &path, const std::string &name, const std::vector<const Port *> &inputs,
                           const DataOptions &options, std::vector<ClassesOf> &unnamed) {
  std::shared_ptr<PictureFiles> &files = collections_[path];
  if (!files)
    files = std::make_shared<PictureFiles>(path, options.installation);
  if (files->hasBoxes())
    return bindBoxes(files, path, name, inputs, options);
  std::vector<const Port *> pictures, classes;
  for (const Port *port : inputs) {
    if (!name.empty() && port->name != name)
      continue;
    auto &kind = takesPictures(*port, batch_) ? pictures : classes;
    bool fits = &kind == &pictures || takesClasses(*port, batch_);
    bool seen = std::any_of(kind.begin(), kind.end(), [&](const Port *other) { return other->name == port->name; });
    if (fits && !seen)
      kind.push_back(port);
    else if (!fits && !name.empty())
      fail(path,
           concat("input '", name, "' has shape ", toString(port->shape), " of ", nameOf(port->dtype),
                  ", and takes neither pictures nor classes"),
           "pictures fit floats [samples,channels,height,width], and classes an integer for each sample");
  }
  if (name.empty() && pictures.empty())
    fail(path, "no input takes pictures, which are floats [samples,channels,height,width]",
         "give arrays in .npz files");
  if (pictures.size() > 1 || classes.size() > 1) {
    const auto &several = pictures.size() > 1 ? pictures : classes;
    fail(path, concat("several inputs take ", &several == &pictures ? "pictures: " : "classes: ", namesOf(several)),
         concat("say which ones: ", option_, " ", pictures.front()->name, "=", path));
  }
  if (!pictures.empty())
    addPictures(files, path, *pictures.front(), options);
  if (!classes.empty() && name.empty())
    unnamed.push_back({path, classes.front()});
  else if (!classes.empty())
    addClasses(*files, path, *classes.front(), options);
}

std::vector<std::string> Dataset::notesOnFiles() const {
  std::vector<std::string> notes;
  for (const auto &[path, files] : collections_)
    if (std::string note = files->note(); !note.empty())
      notes.push_back(concat(path, ": ", note));
  if (!boxesNote_.empty())
    notes.push_back(boxesNote_);
  return notes;
}

std::vector<std::string> Dataset::pictureInputs(bool fromFiles) const {
  std::vector<std::string> names;
  for (const auto &[name, source] : sources_)
    if (source.part == PicturePart::Pixels && (fromFiles ? source.fromFiles : source.pictures != nullptr))
      names.push_back(name);
  return names;
}

const PictureInput *Dataset::pictures() const {
  for (const auto &[name, source] : sources_)
    if (source.pictures && source.part == PicturePart::Pixels)
      return source.pictures.get();
  return nullptr;
}

/// Returns the bytes that normalization makes zero, as nearly as bytes can: those of erased pixels.
static std::vector<uint8_t> bytesOfZero(const std::vector<Affine> &maps, size_t channels) {
  std::vector<uint8_t> bytes;
  for (size_t c = 0; c < channels; ++c) {
    const Affine &map = maps[std::min(c, maps.size() - 1)];
    bytes.push_back(uint8_t(std::clamp(std::nearbyint(map.scale == 0 ? 0 : -map.shift / map.scale), 0.0, 255.0)));
  }
  return bytes;
}

void Dataset::applySteps(const DataOptions &options, const std::vector<const Port *> &inputs) {
  for (const Port *port : inputs) {
    Source &source = sources_.at(port->name);
    const std::string option = options.augment.empty() ? options.pictureOption : kAugment;
    if (!option.empty() && takesPictures(*port, batch_) && !source.pictures && source.array.dtype == MPC_U8)
      source.pictures = std::make_shared<PictureInput>(source.array, Shape(port->shape.begin() + 1, port->shape.end()),
                                                       source.where, picturePlugin(option, options.installation));
  }
  std::map<std::string, std::string> augment;
  const std::vector<std::string> names = pictureInputs(/*fromFiles=*/false);
  for (const std::string &text : options.augment)
    readSteps(kAugment, text, names, [&](const std::string &input, std::string_view value) {
      if (augment.count(input) != 0)
        fail(kAugment, concat("is given twice for input '", input, "'"), "join the steps by ','");
      std::string rest = value == "none" ? "" : std::string(value);
      takeMixing(input, rest);
      augment[input] = rest.empty() ? "" : sources_.at(input).pictures->checkSteps(rest, kAugment);
    });
  if (!mixing_.empty())
    checkMixing(inputs);
  std::set<std::string> seen;
  for (const Port *port : inputs) {
    Source &source = sources_.at(port->name);
    if (!source.pictures || source.part != PicturePart::Pixels || !seen.insert(port->name).second)
      continue;
    const std::string &steps = augment[port->name];
    auto preprocessing = preprocessing_.inputs.find(port->name);
    std::string transform;
    if (preprocessing != preprocessing_.inputs.end() && !preprocessing->second.transform.empty())
      transform = preprocessing->second.transform = // in its normal form, which checkpoints hold
          source.pictures->checkSteps(preprocessing->second.transform, kTransform);
    source.pictures->setSteps(transform, steps, bytesOfZero(source.maps, size_t(port->shape[1])));
    if (const std::string note = source.pictures->checkBoxes(); !note.empty())
      boxesNote_ = concat(source.where, ": ", note);
    const std::string mixing = port->name == mixing_.input ? mixing_.text() : "";
    if (!steps.empty() || !mixing.empty())
      augmentation_ += concat(augmentation_.empty() ? "" : "; ", port->name, ": ", steps,
                              steps.empty() || mixing.empty() ? "" : ",", mixing);
  }
}

} // namespace mpc::rt
