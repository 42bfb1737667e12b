// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Dataset.h"

#include "runtime/core/data/Kinds.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/data/PictureFiles.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <unistd.h>

namespace mpc::rt {

/// The most readers unless the user wants more: each copies some GB/s, and together more than a link to a GPU carries.
static constexpr int kMostReaders = 8;

std::vector<const Port *> inputsOf(const std::vector<const Entry *> &entries) {
  std::vector<const Port *> inputs;
  for (const Entry *entry : entries)
    for (const Port &port : entry->inputs)
      inputs.push_back(&port);
  return inputs;
}

/// Splits "FILE.npz:ARRAY" into "FILE.npz" and "ARRAY"; returns other names with "".
static std::pair<std::string, std::string> splitMember(std::string_view path) {
  size_t colon = path.rfind(".npz:");
  if (colon == path.npos)
    return {std::string(path), ""};
  return {std::string(path.substr(0, colon + 4)), std::string(path.substr(colon + 5))};
}

std::vector<std::string> namedFiles(const std::vector<std::string> &files) {
  std::vector<std::string> names;
  for (const std::string &list : files)
    for (std::string_view item : split(list, ','))
      for (std::string_view path : {item, item.substr(item.find('=') + 1)}) // without '=' both are the same
        names.push_back(splitMember(path).first);
  return names;
}

Dataset::Dataset(const DataOptions &options, const std::vector<const Port *> &inputs, int64_t batch)
    : option_(options.option), skipBad_(options.skipBadSamples), batch_(std::max<int64_t>(batch, 1)),
      readers_(options.readers > 0 ? options.readers : std::min(availableCpus(), kMostReaders)) {
  bind(options, inputs);
  for (const Port *port : inputs) {
    Source &source = sources_.at(port->name);
    source.inFile = MappedFile::visit(source.array.data, [](const MappedFile &) {});
    if (!source.fromFiles)
      checkArray(source.array.dtype, source.array.shape, source.where,
                 *port); // a second check, because the first may have been for another port of this name
    if (!port->batched)
      continue;
    source.batched = true;
    source.rowsPerSample = port->shape[0] / batch_;
    source.sampleElements = elementsOf(takerOf(source, *port).shape) / batch_;
  }
  applyMaps(options);
  applySteps(options, inputs);
  countSamples();
  for (const Port *port : inputs)
    checkValues(sources_.at(port->name), takerOf(sources_.at(port->name), *port));
  for (const Port *port : inputs)
    if (port->sequences && port->batched)
      checkSequences(sources_.at(port->name), *port->sequences);
}

void Dataset::countSamples() {
  for (const auto &[name, source] : sources_) {
    if (!source.batched)
      continue;
    int64_t count = source.samples();
    if (samples_ >= 0 && count != samples_)
      fail(source.where, concat("has ", count, " samples, but another input has ", samples_),
           "give every input the same number of samples");
    samples_ = count;
  }
  if (samples_ < 0)
    samples_ = batch_; // without a batched input there is one batch
  if (samples_ == 0)   // then some input is batched, so there is a source
    fail(sources_.begin()->second.where, "holds no samples", "give at least one sample");
  if (samples_ > UINT32_MAX) // Batches numbers them in 32 bits
    fail(sources_.begin()->second.where, concat("has ", samples_, " samples; at most ", UINT32_MAX, " are supported"),
         "split the data");
}

void Dataset::checkWhole() const {
  for (const auto &[name, source] : sources_)
    MappedFile::visit(source.array.data, [](const MappedFile &file) { file.checkWhole(); });
}

void Dataset::checkUnchanged(const std::vector<const Port *> &inputs) const {
  for (const Port *port : inputs) {
    bool changed = false;
    const Source &from = source(*port);
    MappedFile::visit(from.array.data, [&](const MappedFile &file) { changed = file.changed(); });
    if (!changed)
      continue;
    checkWhole();
    checkValues(from, takerOf(from, *port));
    fail(from.where, "changed while it was read", MappedFile::kLeaveAlone);
  }
}

void Dataset::add(const std::string &name, Source source) {
  auto [it, isNew] = sources_.try_emplace(name, std::move(source));
  if (!isNew)
    fail(option_, concat("gives input '", name, "' twice: ", it->second.where, " and ", source.where),
         concat("keep one of them; ", name, "=FILE.npz:ARRAY takes one array of a file"));
}

void Dataset::bind(const DataOptions &options, const std::vector<const Port *> &inputs) {
  std::map<std::string, std::shared_ptr<NpzReader>> archives;
  auto openArchive = [&](const std::string &path) {
    auto &archive = archives[path];
    if (!archive)
      archive = std::make_shared<NpzReader>(path);
    return archive;
  };
  auto wanted = [&](std::string_view name) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Port *port) { return port->name == name; });
  };
  std::string inputNames, found;
  for (const Port *port : inputs)
    if (inputNames.find(port->name) == inputNames.npos)
      inputNames += (inputNames.empty() ? "" : ", ") + port->name;
  auto checked = [&](const std::string &name, const std::string &where) {
    return [&, name, where](mpc_dtype dtype, const Shape &shape) {
      for (const Port *port : inputs)
        if (port->name == name)
          checkArray(dtype, shape, where, *port);
    };
  };
  std::string lastFile, unknown; // `unknown`: the names that belong to none of the inputs
  std::vector<ClassesOf> unnamed;
  for (const std::string &list : options.files)
    for (std::string_view item : split(list, ',')) {
      size_t equals = item.find('=');
      bool named = equals != item.npos && wanted(item.substr(0, equals));
      std::string name(named ? item.substr(0, equals) : "");
      if (equals != item.npos && !named && access(std::string(item).c_str(), F_OK) != 0) {
        // The data is for an input that these entries lack, such as labels for predict.
        unknown += concat(unknown.empty() ? "" : ", ", item.substr(0, equals));
        continue;
      }
      auto [path, member] = splitMember(named ? item.substr(equals + 1) : item);
      lastFile = path;
      if (PictureFiles::mayBe(path)) {
        refuseFolderOfArrays(path);
        bindPictures(path, name, inputs, options, unnamed);
        continue;
      }
      if (!NpzReader::isZip(MappedFile::open(path)->bytes())) {
        // What the file holds matters more than its name: a missing input name is an error only after the
        // header has been read.
        Array array = readArrayFile(path, [&](mpc_dtype dtype, const Shape &shape) {
          if (inputs.empty())
            fail(path, "holds an array, but the program has no inputs", "leave it out");
          if (name.empty() && inputNames.find(',') != inputNames.npos)
            fail(path, "holds one array, but the program has several inputs",
                 concat("say which input it is: ", option_, " INPUT=", path, " (inputs: ", inputNames, ")"));
          if (name.empty())
            name = inputs.front()->name;
          checked(name, concat(path, ": ", name))(dtype, shape);
        });
        add(name, {std::move(array), concat(path, ": ", name)});
        continue;
      }
      auto archive = openArchive(path);
      if (archive->names().empty()) {
        std::shared_ptr<const MappedFile> file = MappedFile::open(path);
        if (file->bytes().starts_with("PK\3\4")) // an empty .npz has no local header
          refuseData(path, file->bytes());
      }
      for (const std::string &array : archive->names()) {
        found += (found.empty() ? "" : ", ") + array;
        if (name.empty() ? wanted(array) : array == (member.empty() ? name : member)) {
          std::string target = name.empty() ? array : name;
          std::string where = concat(path, ": ", array);
          add(target, {archive->read(array, checked(target, where)), where});
        }
      }
      if (!name.empty() && !sources_.count(name))
        fail(path, concat("has no array '", member.empty() ? name : member, "' (it has: ", found, ")"),
             concat("use ", option_, " ", name, "=", path, ":ARRAY"));
    }
  for (const ClassesOf &classes : unnamed) // are taken where nobody else gives them
    if (sources_.count(classes.port->name) == 0)
      addClasses(*collections_.at(classes.path), classes.path, *classes.port, options);
  for (const Port *port : inputs)
    if (!sources_.count(port->name))
      fail(lastFile.empty() ? option_ : lastFile,
           concat("no data for input '", port->name, "'", found.empty() ? "" : " (arrays: ", found,
                  found.empty() ? "" : ")", unknown.empty() ? "" : "; no input is named ", unknown),
           concat("name the array '", port->name, "' or use ", option_, " ", port->name, "=FILE"));
}

void Dataset::applyMaps(const DataOptions &options) {
  std::vector<std::string> names;
  Preprocessing base, stored;
  std::string elsewhere; // the steps of inputs that these entries do not have, such as the targets for predict
  for (const auto &[name, source] : sources_)
    names.push_back(name);
  if (options.stored)
    for (const auto &[name, steps] : options.stored->effective().inputs) {
      auto source = sources_.find(name);
      if (source == sources_.end()) {
        elsewhere += concat("; not used here: ", name, ": ", steps.text());
        continue;
      }
      stored.inputs[name] = steps;
      if (!source->second.fromFiles)
        stored.inputs[name].transform.clear(); // an array has the input's size
    }
  stored = stored.effective();
  const StepOptions said{options.transform, options.scale, options.normalize};
  base = withOptions(stored, said, names, pictureInputs(/*fromFiles=*/true));
  for (auto &[name, source] : sources_) {
    auto steps = base.inputs.find(name);
    const InputSteps of = steps == base.inputs.end() ? InputSteps() : steps->second;
    source.told = of.scale || of.normalize;
    source.maps = of.maps();
  }
  preprocessing_ = base.effective();
  if (options.stored)
    note_ = describeUse(stored, preprocessing_, !said.empty());
  if (!elsewhere.empty())
    note_ = note_.empty() ? "preprocessing of the checkpoint" + elsewhere : note_ + elsewhere;
}

std::vector<std::string> Dataset::notesOnBytes(const std::vector<const Port *> &inputs) const {
  std::vector<std::string> notes;
  std::set<std::string> seen;
  for (const Port *port : inputs) {
    const Source &from = source(*port);
    if (from.array.dtype != MPC_U8 || from.told || !isFloat(takerOf(from, *port).dtype) ||
        !seen.insert(port->name).second)
      continue;
    uint8_t low = 0, high = 255; // of pictures, of which not all are read now
    if (auto *bytes = reinterpret_cast<const uint8_t *>(from.array.data); !from.fromFiles) {
      auto [least, most] = std::minmax_element(bytes, bytes + from.array.elements());
      low = from.array.elements() > 0 ? *least : 0;
      high = from.array.elements() > 0 ? *most : 0;
    }
    if (high > 1)
      notes.push_back(concat("input '", port->name, "' has bytes ", int(low), "…", int(high),
                             " and enters as it is; --scale=", port->name,
                             "=0.00392157 makes 255 one, --normalize=", port->name, "=MEAN,STD standardizes"));
  }
  return notes;
}

/// Returns "mse:y:labels or bce_with_logits:y:labels", the losses of float targets.
static std::string floatLosses(const Port &labels) {
  const std::string names = concat(":", labels.labelsOf->scores, ":", labels.name);
  return concat("--loss=mse", names, " or --loss=bce_with_logits", names);
}

/// Returns what to do about labels of the wrong shape, or "" if no better hint is known than for other inputs.
static std::string labelsHint(const Port &port, mpc_dtype dtype, std::span<const int64_t> given) {
  const LabelsOf &of = *port.labelsOf;
  for (size_t axis = 1; axis < of.shape.size(); ++axis) {
    Shape rest(of.shape.begin() + 1, of.shape.end());
    rest.erase(rest.begin() + long(axis) - 1);
    if (int64_t(axis) != of.axis && std::equal(rest.begin(), rest.end(), given.begin(), given.end()))
      return concat("they fit classes along dimension ", axis, ": compile with ,axis=", axis, " at the end of --loss");
  }
  if (port.takesProbabilities())
    return concat("give ", port.shape[size_t(of.axis)], " probabilities for each label, or numbers of classes");
  return isFloat(dtype) ? concat("for float targets compile with ", floatLosses(port)) : "";
}

bool Dataset::fitsRows(const Shape &shape, const Port &port) const {
  return !shape.empty() && shape[0] % (port.shape[0] / batch_) == 0 &&
         sameLayout(std::span(shape).subspan(1), std::span(port.shape).subspan(1));
}

Port Dataset::takerOf(const Source &source, const Port &port) const {
  const bool numbers = port.takesProbabilities() && port.batched && !source.fromFiles;
  return numbers && !fitsRows(source.array.shape, port) ? port.ofClassNumbers() : port;
}

void Dataset::checkArray(mpc_dtype dtype, const Shape &have, const std::string &where, const Port &port) const {
  if (port.labelsOf && port.labelsOf->assumed && isFloat(dtype))
    fail(where,
         concat("holds ", nameOf(dtype), " ", toString(have), ", but no loss was named, and then input '", port.name,
                "' takes classes as integers: the labels of ", port.labelsOf->text()),
         concat("save classes as integers; for float targets compile with ", floatLosses(port)));
  if (!port.batched) {
    if (!sameLayout(have, port.shape))
      fail(where, concat("has shape ", toString(have), ", but input '", port.name, "' needs ", toString(port.shape)),
           "give an array of the input's shape");
    return;
  }
  Shape row(port.shape.begin() + 1, port.shape.end());
  std::span<const int64_t> given = std::span(have).subspan(have.empty() ? 0 : 1);
  if (!fitsRows(have, port) && !(port.takesProbabilities() && fitsRows(have, port.ofClassNumbers()))) {
    std::string wanted = "[samples";
    for (int64_t extent : row)
      wanted += concat(",", extent);
    std::string hint = port.labelsOf ? labelsHint(port, dtype, given) : "";
    if (hint.empty())
      hint = elementsOf(given) == elementsOf(row)
                 ? "transpose the array: as many elements in another order are another sample"
                 : "reshape the array so that every sample has as many elements";
    fail(where,
         concat("has shape ", toString(have), ", but input '", port.name, "' needs ", wanted, "]",
                port.labelsOf ? ": the labels of " + port.labelsOf->text() : ""),
         hint);
  }
}

void Dataset::checkValues(const Source &source, const Port &port) const {
  if (source.mapped() && !isFloat(port.dtype))
    fail(source.where, concat("input '", port.name, "' is of type ", nameOf(port.dtype), " and cannot be scaled"),
         "scale float inputs only");
  const size_t first = port.batched ? 1 : 0, channels = source.maps.size();
  if (channels > 1 && (port.shape.size() <= first || port.shape[first] != int64_t(channels)))
    fail("--normalize", concat(channels, " channels for input '", port.name, "' of shape ", toString(port.shape)),
         "give one mean for all, or one for each channel of the input");
  if (source.fromFiles)
    return; // bytes fit every float
  const auto count = size_t(source.array.elements());
  isFloat(port.dtype) ? checkFloats(source, port, 0, count) : checkIntegers(source, port, source.array.data, 0, count);
}

void Dataset::complain(const Source &source, size_t at, const std::string &what, const std::string &hint) {
  std::string place = concat("element ", at);
  if (source.batched) {
    place = concat("sample ", int64_t(at) / source.sampleElements);
    if (source.sampleElements > 1)
      place += concat(", element ", int64_t(at) % source.sampleElements);
  }
  fail(source.where, concat(place, " ", what), hint);
}

void Dataset::checkFinite(const Source &source, size_t at, double value) {
  if (!std::isfinite(value))
    complain(source, at, std::isnan(value) ? "holds NaN" : "holds an infinity", "repair or remove the sample");
}

/// Returns whether no value of the integer type can leave the float type's range after the maps; their ends decide,
/// because the maps are monotonic.
static bool neverOverflows(mpc_dtype from, const std::vector<Affine> &maps, mpc_dtype to) {
  if (isFloat(from) || from == MPC_U64)
    return false;
  const int64_t ends[] = {lowestOf(from), highestOf(from)};
  return std::all_of(maps.begin(), maps.end(),
                     [&](const Affine &map) { return firstMisfit(MPC_I64, ends, to, 2, map) == 2; });
}

bool Dataset::mayMisfit(const Source &source, const Port &port) {
  if (isFloat(port.dtype))
    return !neverOverflows(source.array.dtype, source.maps, port.dtype);
  return source.array.dtype != port.dtype || !port.ranges.empty();
}

/// Checks every value as `fill` will convert it.
void Dataset::checkFloats(const Source &source, const Port &port, size_t first, size_t count) const {
  const Array &array = source.array;
  if (!mayMisfit(source, port))
    return;
  const bool mapped = source.mapped();
  double wide[kBlock];
  // The parts that use one map lie one after the other, sample after sample.
  size_t part = size_t(source.unit()) / source.maps.size();
  for (size_t at = first, end = first + count, n; at < end; at += n) {
    n = std::min({kBlock, end - at, part - at % part});
    const std::byte *from = array.data + at * sizeOf(array.dtype);
    const Affine &map = source.maps[at / part % source.maps.size()];
    if (isFloat(array.dtype)) {
      convert(array.dtype, from, MPC_F64, wide, n);
      for (size_t i = 0; i < n; ++i)
        checkFinite(source, at + i, wide[i]);
    }
    size_t bad = firstMisfit(array.dtype, from, port.dtype, n, map);
    if (bad == n)
      continue;
    double value = loadDouble(array.dtype, from, bad);
    complain(source, at + bad,
             concat("holds ", value,
                    mapped ? concat(", by --scale and --normalize ", value * map.scale + map.shift) : "", ", which ",
                    nameOf(port.dtype), " cannot represent"),
             mapped ? "give a smaller factor" : "use --scale");
  }
}

void Dataset::checkIntegers(const Source &source, const Port &port, const std::byte *values, size_t first,
                            size_t count) const {
  const mpc_dtype type = source.array.dtype;
  if (size_t bad = firstMisfit(type, values, port.dtype, count); bad < count) {
    double value = loadDouble(type, values, bad);
    checkFinite(source, first + bad, value);
    if (value != std::floor(value))
      complain(source, first + bad, concat("holds ", value, ", but input '", port.name, "' takes integers"),
               port.labelsOf ? concat("save classes as integers; for float targets compile with ", floatLosses(port))
                             : "save the array as integers");
    complain(source, first + bad, concat("holds ", value, ", which ", nameOf(port.dtype), " cannot represent"),
             "repair or remove the sample");
  }
  if (port.ranges.empty())
    return;
  int64_t exact[kBlock];
  for (size_t done = 0; done < count; done += kBlock) {
    size_t n = std::min(kBlock, count - done);
    convert(type, values + done * sizeOf(type), MPC_I64, exact, n);
    for (size_t i = 0; i < n; ++i) {
      if (std::all_of(port.ranges.begin(), port.ranges.end(), [&](const Range &r) { return r.holds(exact[i]); }))
        continue; // nearly always, and then no text is made
      if (std::string refused = port.refusal(exact[i], int64_t(first + done + i)); !refused.empty())
        complain(source, first + done + i, concat("has ", refused),
                 "repair the data, or compile a model that takes this value");
    }
  }
}

} // namespace mpc::rt
