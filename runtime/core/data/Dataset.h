// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds data files to the inputs of a program, checks them once and converts them batch by batch.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/Transpose.h"
#include "runtime/core/data/Array.h"
#include "runtime/core/data/BadSamples.h"
#include "runtime/core/data/Mixing.h"
#include "runtime/core/data/PictureInput.h"
#include "runtime/core/data/Preprocessing.h"

#include <map>
#include <span>

namespace mpc::rt {

class Threads;

struct DataOptions {
  /// Each element is "FILE.npz" (arrays bound to inputs by name), "INPUT=FILE" (.npy, IDX, IDX.gz),
  /// "INPUT=FILE.npz:ARRAY", or pictures (a folder, a .tar, a .csv list, or annotations with boxes): "INPUT=PICTURES",
  /// or "PICTURES" for the input that takes pictures and those that take their classes or boxes. Or several of these
  /// joined with ','.
  std::vector<std::string> files;
  /// Each element is "INPUT=FACTOR": value * factor, applied before normalize; "INPUT=none", or "none" for every input.
  std::vector<std::string> scale;
  /// Each element is "INPUT=MEAN,STD": (value - mean) / std. MEAN and STD are one number or one per channel (the
  /// dimension after the batch), separated by ':'. Or "INPUT=none", or "none".
  std::vector<std::string> normalize;
  /// Each element is "INPUT=STEPS" or "STEPS" (see --help): how pictures in files get the size that the input takes.
  /// Or "INPUT=none", or "none".
  std::vector<std::string> transform = {};
  /// Each element is "INPUT=STEPS" or "STEPS": random changes of pictures in training, also of those in arrays.
  std::vector<std::string> augment = {};
  /// This is the preprocessing of the checkpoint. It holds for the steps that `transform`, `scale` and `normalize` do
  /// not name, and has no value where there is no checkpoint.
  std::optional<Preprocessing> stored = {};
  /// Threads that read and convert the samples of a batch; 0: one for each CPU of the process, at most 8. What they
  /// write does not depend on their number.
  int readers = 0;
  /// The names of the classes in the order of their numbers, as a checkpoint or the training's data have them; empty:
  /// the data decide.
  std::vector<std::string> classes = {};
  /// True: samples that cannot be read are left out and counted. False: they are errors.
  bool skipBadSamples = false;
  /// An option that needs the pictures themselves, also those in arrays of bytes (Dataset::pictures); "": none does.
  std::string pictureOption = {};
  const char *option = "--data"; // the option that names the files, for messages
  /// The folder of the mpc that compiled the program, where the plugin for pictures may be; may be empty.
  std::string installation = {};
};

/// Returns the files that the options may mean, whether the program has inputs for them or not; some of the names may
/// not be files.
std::vector<std::string> namedFiles(const std::vector<std::string> &files);

/// Returns the distinct inputs of some entries (entries may share inputs by name).
std::vector<const Port *> inputsOf(const std::vector<const Entry *> &entries);

/// Returns "classes: 0 cat, 1 dog", with at most ten of them.
std::string classesText(const std::vector<std::string> &classes);

/// Returns whether a port may take pictures: floats [samples, channels, height, width].
bool takesPictures(const Port &port, int64_t batch);

/// Throws Error where bad samples are to be skipped and states are carried from batch to batch: each sample would go on
/// from the state of another one.
void checkBadSamples(const Manifest &manifest, const DataOptions &options);

class Dataset {
public:
  /// Loads and checks an array for every input. A batched input [N*k, rest…] takes an array with k rows per
  /// sample, and the rows must have the same layout (see sameLayout); other inputs take an array of the same layout.
  /// Throws Error for missing arrays, shape conflicts, NaN or infinity, labels out of range, and values that
  /// the port's type cannot represent after scaling and normalizing.
  /// Without inputs there is nothing to load, and the number of samples is that of one batch.
  Dataset(const DataOptions &options, const std::vector<const Port *> &inputs, int64_t batch);

  int64_t samples() const { return samples_; }
  int64_t batch() const { return batch_; }
  /// Returns the number of threads that shall read a batch, at least 1.
  int readers() const { return readers_; }

  /// Returns the steps that change values of the inputs, as they result from the options.
  const Preprocessing &preprocessing() const { return preprocessing_; }
  /// Returns what a user should know about how the options' `stored` is used; "" if there is nothing.
  const std::string &preprocessingNote() const { return note_; }
  /// Returns the names of the classes of the pictures, in the order of their numbers; empty where they have none.
  const std::vector<std::string> &classes() const { return classes_; }
  /// Returns what --augment does: "x: random-crop:4,flip:0.5", or "".
  const std::string &augmentation() const { return augmentation_; }
  /// Returns the samples that could not be read so far.
  const BadSamples &badSamples() const { return *bad_; }
  /// Returns the pictures of the input that takes some, with DataOptions::pictureOption also those in an array of
  /// bytes; null where there are none.
  const PictureInput *pictures() const;
  /// Returns a line for each collection of pictures of which a user should know something.
  std::vector<std::string> notesOnFiles() const;
  /// Returns a line for each float input that takes bytes above 1 of which nobody has said how they shall be changed.
  std::vector<std::string> notesOnBytes(const std::vector<const Port *> &inputs) const;

  /// Writes an input for the given samples (exactly one batch of indices) into `stored`, converted to the
  /// port's type and stored order. `draw` says which random changes they get. `readers` share the samples. `scratch` is
  /// reused between calls. Throws Error, as the constructor does, for values that lie in a file and were changed there
  /// since to what the port cannot take, and for samples that cannot be read, unless these are skipped: then they are
  /// among the bad samples afterwards, and what is written for them means nothing.
  void fill(const Port &port, std::span<const uint32_t> samples, const Draw &draw, void *stored,
            std::vector<std::byte> &scratch, Threads &readers) const;
  /// Mixes the samples of a batch of training with each other where --augment says so. `batch` is its number within the
  /// epoch, and inputs[i] has what fill() wrote for ports[i].
  void mix(const std::vector<const Port *> &ports, const Draw &draw, int64_t batch,
           std::vector<std::vector<std::byte>> &inputs, std::vector<std::byte> &scratch, Threads &readers) const;
  /// Throws Error when a file has become shorter, because the data read from it may then be zeros.
  void checkWhole() const;
  /// Throws Error when a file of the inputs has become shorter or was written to since it was opened. What was read
  /// from it may then be other data than those that the constructor checked. The Error names a value that an input
  /// cannot take, if there is one.
  void checkUnchanged(const std::vector<const Port *> &inputs) const;

private:
  /// Where the values of an input come from: an array, or pictures that are read one by one.
  struct Source {
    Array array;                   // empty where pictures come from files; the element type is that of their bytes
    std::string where;             // file and array, for errors
    std::vector<Affine> maps = {}; // one, or one per channel
    int64_t rowsPerSample = 0, sampleElements = 0; // for a batched input
    bool batched = false;
    bool told = false;   // whether an option or a checkpoint says what happens to its values
    bool inFile = false; // true if the elements lie in a file's pages, where another program can change them
    std::shared_ptr<PictureInput> pictures = {}; // null: the array's values are taken as they are
    bool fromFiles = false;                      // whether the pictures come from files
    PicturePart part = PicturePart::Pixels;      // what is taken of the pictures
    /// Returns whether the maps change any value.
    bool mapped() const { return maps.size() > 1 || !maps[0].identity(); }
    /// Returns the number of elements that the maps divide into channels: those of a sample, or all elements.
    int64_t unit() const { return batched ? sampleElements : array.elements(); }
    /// Writes a unit (the sample of that index, or the whole array) in logical order, mapped and converted to a type.
    void convertUnit(size_t index, mpc_dtype type, std::byte *target) const;
    /// Writes the unit whose values begin at `from`.
    void convertValues(const std::byte *from, mpc_dtype type, std::byte *target) const;
    int64_t samples() const;
  };
  void bind(const DataOptions &options, const std::vector<const Port *> &inputs);
  /// The classes of the pictures behind a path, and the port that may take them.
  struct ClassesOf {
    std::string path;
    const Port *port;
  };
  /// Binds the pictures of `path` to the input of that name. "" stands for the inputs that pictures and classes fit;
  /// the classes are then added to `unnamed`.
  void bindPictures(const std::string &path, const std::string &name, const std::vector<const Port *> &inputs,
                    const DataOptions &options, std::vector<ClassesOf> &unnamed);
  /// Does the same for pictures with boxes: the boxes, their classes and their number go to the inputs that fit.
  void bindBoxes(const std::shared_ptr<PictureFiles> &files, const std::string &path, const std::string &name,
                 const std::vector<const Port *> &inputs, const DataOptions &options);
  void addPictures(const std::shared_ptr<PictureFiles> &files, const std::string &path, const Port &port,
                   const DataOptions &options);
  /// Adds a source that takes a part of pictures in files.
  void addPart(std::shared_ptr<PictureInput> pictures, PicturePart part, const std::string &path,
               const std::string &name);
  /// Sets the classes, and returns the numbers of the files' classes among them. `port` takes the numbers.
  std::vector<int64_t> classNumbers(const PictureFiles &files, const std::string &path, const Port &port,
                                    const DataOptions &options);
  void addClasses(const PictureFiles &files, const std::string &path, const Port &port, const DataOptions &options);
  void add(const std::string &name, Source source);
  void applyMaps(const DataOptions &options);
  /// Gives pictures their steps.
  void applySteps(const DataOptions &options, const std::vector<const Port *> &inputs);
  /// Takes mixup and cutmix out of an input's steps.
  void takeMixing(const std::string &input, std::string &steps);
  /// Throws Error where a batch of these inputs cannot be mixed.
  void checkMixing(const std::vector<const Port *> &inputs) const;
  std::vector<std::string> pictureInputs(bool fromFiles) const;
  /// Returns the port that takes the array's values: `port`, or where that takes probabilities and the array has
  /// numbers of classes, one that takes these.
  Port takerOf(const Source &source, const Port &port) const;
  /// Returns whether an array of the shape has rows for the port.
  bool fitsRows(const Shape &shape, const Port &port) const;
  /// Throws Error for an array of a shape that the port cannot take, or for floats where the input holds class labels
  /// only because the user named no loss.
  void checkArray(mpc_dtype dtype, const Shape &shape, const std::string &where, const Port &port) const;
  void countSamples();
  /// Throws Error, located at file, array, sample and element, for values that the port cannot take.
  void checkValues(const Source &source, const Port &port) const;
  /// Does the same for rows of classes, once the values of all inputs are checked.
  void checkSequences(const Source &source, const Sequences &of) const;
  /// Both check `count` elements from `first` on. `values` are those elements.
  void checkFloats(const Source &source, const Port &port, size_t first, size_t count) const;
  void checkIntegers(const Source &source, const Port &port, const std::byte *values, size_t first, size_t count) const;
  /// Returns false if the port can take every value that the array's type has.
  static bool mayMisfit(const Source &source, const Port &port);
  /// Does what Source::convertUnit does, and throws Error unless the port can take all values that it has written.
  void convertChecked(const Source &source, const Port &port, size_t index, std::byte *target) const;
  /// Writes the labels of a sample, which are numbers of classes, as probabilities: 1 for the class, and 0 for others.
  /// `numbers` is the port's takerOf; with `check` the numbers are checked.
  void writeProbabilities(const Source &source, const Port &port, const Port &numbers, size_t index, bool check,
                          std::byte *target) const;
  /// Writes a picture, or a part of its boxes, as the port takes it; with skipped bad samples, one that cannot be read
  /// becomes one of these.
  void readPicture(const Source &source, const Port &port, uint32_t sample, const Draw &draw, std::byte *target) const;
  static void checkFinite(const Source &source, size_t at, double value);
  [[noreturn]] static void complain(const Source &source, size_t at, const std::string &what, const std::string &hint);
  const Source &source(const Port &port) const { return sources_.at(port.name); }
  static constexpr size_t kBlock = 1024; // values that are checked at a time

  std::map<std::string, Source> sources_;
  Preprocessing preprocessing_;
  std::string note_, boxesNote_, augmentation_;
  Mixing mixing_;
  std::vector<std::string> classes_;
  std::map<std::string, std::shared_ptr<PictureFiles>> collections_; // by their paths
  std::shared_ptr<BadSamples> bad_ = std::make_shared<BadSamples>();
  const char *option_;
  bool skipBad_;
  int64_t batch_, samples_ = -1;
  int readers_;
};

} // namespace mpc::rt
