// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/state/Checkpoint.h"

#include "runtime/core/Info.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/state/Network.h"
#include "runtime/core/state/Safetensors.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "runtime/support/Random.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <filesystem>
#include <memory>
#include <regex.h>
#include <unistd.h>

namespace mpc::rt {

/// Returns the variables that a checkpoint holds, in the manifest's order.
static std::vector<const Variable *> savedVariables(const Session &session) {
  std::vector<const Variable *> saved;
  for (const Variable &v : session.manifest().variables)
    if ((v.role == "average" || (v.role != "copy" && v.init.kind != Init::Copy && v.role != "hyper")) &&
        session.stores(v.name))
      saved.push_back(&v);
  return saved;
}

static std::string tableHash(const std::vector<const Variable *> &variables) {
  uint64_t hash = hashOf("");
  for (const Variable *v : variables)
    hash = hashOf(concat(v->name, " ", nameOf(v->dtype), toString(v->shape), "\n"), hash);
  return concat(hash);
}

/// The key of what the training does to its inputs (Preprocessing::metadata).
static constexpr char kPreprocessing[] = "preprocessing";
/// The keys of the names of the classes, one in each line, and of the random changes of the samples.
static constexpr char kClasses[] = "classes", kAugmentation[] = "augmentation";
/// The key of Cursor::watches.
static constexpr char kWatches[] = "watches";
/// The key of Cursor::evaluationDue.
static constexpr char kEvaluationDue[] = "evaluation_due";
/// The key of Cursor::options.
static constexpr char kOptions[] = "options";
/// The key of describeTraining.
static constexpr char kTraining[] = "training";

/// Returns a number of each optimizer: "1,4".
static std::string eachText(const Manifest &manifest, int64_t Step::*number) {
  std::string text;
  for (const Step &step : manifest.steps)
    text += concat(text.empty() ? "" : ",", step.*number);
  return text;
}

void saveCheckpoint(const Session &session, const Cursor &cursor, const std::string &path) {
  std::vector<const Variable *> variables = savedVariables(session);
  std::vector<TensorToWrite> tensors;
  std::vector<NetworkTensor> network;
  for (const Variable *v : variables) {
    if (v->role == "parameter" || v->role == "buffer")
      network.push_back({v->name, v->origin});
    tensors.push_back({v->name, v->dtype, v->shape, [&session, v] { return session.variable(v->name); }});
  }
  std::map<std::string, std::string> metadata;
  auto put = [&](const char *key, const Piece &value) { metadata[key] = value.text(); };
  put("format", kCheckpointFormat);
  put("producer", session.manifest().producer);
  put("model", session.manifest().model);
  put(kTraining, describeTraining(session.manifest()));
  put("variables", tableHash(variables));
  put("network", networkText(network));
  if (std::string averages = averagesText(session.manifest()); !averages.empty())
    put("averages", averages);
  put("step", cursor.iteration);
  put("epoch", cursor.epoch);
  put("batch", cursor.batch);
  put("samples", cursor.samples);
  put("batch_size", session.manifest().batch);
  put("accumulate", eachText(session.manifest(), &Step::accumulate));
  put("every", eachText(session.manifest(), &Step::every));
  put("seed", cursor.seed);
  put("shuffle", cursor.shuffle ? 1 : 0);
  if (cursor.preprocessing)
    put(kPreprocessing, cursor.preprocessing->metadata());
  std::string classes;
  for (const std::string &name : cursor.classes)
    classes += concat(classes.empty() ? "" : "\n", name);
  if (!classes.empty())
    put(kClasses, classes);
  if (!cursor.augmentation.empty())
    put(kAugmentation, cursor.augmentation);
  if (!cursor.options.empty())
    put(kOptions, cursor.options);
  if (!cursor.watches.empty())
    put(kWatches, cursor.watches);
  if (cursor.evaluationDue)
    put(kEvaluationDue, 1);
  writeSafetensors(path, tensors, std::move(metadata));
}

/// Says why an array cannot be a variable's value, or returns "".
static std::string shapeConflict(const Variable &v, const Array &found) {
  if (found.shape == v.shape)
    return "";
  return concat("has shape ", toString(found.shape), ", the program needs ", toString(v.shape));
}

static void checkShape(const std::string &path, const Variable &v, const Array &found) {
  if (std::string why = shapeConflict(v, found); !why.empty())
    fail(concat(path, ": ", v.userName()), why, "use a checkpoint of the same model");
}

static uint64_t number(const SafetensorsReader &reader, const char *key, uint64_t most = INT64_MAX) {
  std::string text = reader.metadata(key);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most)
    fail(reader.path(), concat("its metadata holds no valid '", key, "'"), "use another checkpoint");
  return value;
}

static std::vector<std::string> classesIn(const SafetensorsReader &reader) {
  std::vector<std::string> names;
  if (std::string text = reader.metadata(kClasses); !text.empty())
    for (std::string_view name : split(text, '\n'))
      names.emplace_back(name);
  return names;
}

/// Returns the lines of a describeTraining that another one does not have: "precision fp32 O0; loss mse:y:t". Each is
/// cut at 200 characters, because a loss may hold the weights of all classes.
static std::string linesOf(const std::string &text, const std::string &other) {
  std::string lines;
  const std::string others = concat("\n", other, "\n");
  for (std::string_view line : split(text, '\n'))
    if (line.size() > 11 && others.find(concat("\n", line, "\n")) == others.npos) // a label of 12 columns is in front
      lines += concat(lines.empty() ? "" : "; ", line.substr(0, line.find(' ')), line.substr(11, 200));
  return lines;
}

/// Returns how a session's program was compiled otherwise than the one that wrote a checkpoint: "the program was
/// compiled with precision fp32 O0 in place of precision fp16 O1"; "" where it was not, or where the checkpoint does
/// not say.
static std::string otherTraining(const Session &session, const SafetensorsReader &reader) {
  const std::string own = describeTraining(session.manifest()), stored = reader.metadata(kTraining);
  const std::string has = linesOf(own, stored), had = linesOf(stored, own);
  if (stored.empty() || (has.empty() && had.empty()))
    return "";
  return concat("the program was compiled with ", has.empty() ? "nothing" : has, " in place of ",
                had.empty() ? "nothing" : had);
}

static Cursor loadFrom(Session &session, const SafetensorsReader &reader) {
  const std::string &path = reader.path();
  if (!isCheckpoint(reader))
    fail(path, "is no training checkpoint", "load plain weights with --init");
  std::vector<const Variable *> variables = savedVariables(session);
  const std::string other = otherTraining(session, reader), otherwise = concat(other.empty() ? "" : "; ", other);
  for (const Variable *v : variables) {
    auto it = reader.tensors().find(v->name);
    if (it == reader.tensors().end())
      fail(path,
           concat("has no tensor '", v->userName(), "' (", nameOf(v->dtype), " ", toString(v->shape), ")", otherwise),
           reader.metadata("model") == session.manifest().model
               ? concat("use a checkpoint of a program with the same optimizer", v->role == "average" ? ", --ema" : "",
                        " and precision, or --init to load parameters only")
               : concat("it belongs to model '", reader.metadata("model"), "'; use a checkpoint of '",
                        session.manifest().model, "', or --init to load parameters only"));
    checkShape(path, *v, it->second);
    if (it->second.dtype != v->dtype)
      fail(concat(path, ": ", v->userName()),
           concat("is of type ", nameOf(it->second.dtype), ", the program needs ", nameOf(v->dtype)),
           "use a checkpoint of a program with the same precision and optimizer");
  }
  for (const auto &[name, array] : reader.tensors())
    if (std::none_of(variables.begin(), variables.end(), [&](const Variable *v) { return v->name == name; }))
      fail(concat(path, ": ", name), "the program has no such variable" + otherwise,
           "use a checkpoint of the same model and optimizer (compiled with or without --ema as this program), or "
           "--init to load parameters only");
  if (reader.metadata("variables") != tableHash(variables))
    fail(path, "was written by a program with other variables", "use a checkpoint of the same program");
  Cursor cursor;
  cursor.iteration = int64_t(number(reader, "step"));
  cursor.epoch = int64_t(number(reader, "epoch"));
  cursor.batch = int64_t(number(reader, "batch"));
  cursor.samples = int64_t(number(reader, "samples"));
  cursor.seed = number(reader, "seed", UINT64_MAX);
  cursor.shuffle = reader.metadata("shuffle") != "0";
  cursor.preprocessing = Preprocessing::parse(reader.metadata(kPreprocessing), path);
  cursor.classes = classesIn(reader);
  cursor.augmentation = reader.metadata(kAugmentation);
  cursor.options = reader.metadata(kOptions);
  cursor.watches = reader.metadata(kWatches);
  cursor.evaluationDue = reader.metadata(kEvaluationDue) == "1";
  // A parameter that is set sets its average, so averages come last.
  for (bool averages : {false, true})
    for (const Variable *v : variables)
      if ((v->role == "average") == averages)
        session.setVariable(v->name, reader.tensors().at(v->name).view());
  return cursor;
}

Cursor loadCheckpoint(Session &session, const std::string &path) {
  SafetensorsReader reader(path);
  verify(reader);
  return loadFrom(session, reader);
}

namespace {
/// Matches PartialInit::missing.
class NamePattern {
public:
  explicit NamePattern(const std::string &text) {
    if (int code = regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB); code != 0) {
      char why[128];
      regerror(code, &regex_, why, sizeof why);
      fail("--init-missing", concat("'", text, "' is not a regular expression: ", why), "write for example '^head[.]'");
    }
  }
  ~NamePattern() { regfree(&regex_); }
  NamePattern(const NamePattern &) = delete;
  NamePattern &operator=(const NamePattern &) = delete;
  bool matches(const std::string &name) const { return regexec(&regex_, name.c_str(), 0, nullptr, 0) == 0; }

private:
  regex_t regex_;
};
} // namespace

size_t loadParameters(Session &session, const std::string &path, const PartialInit *partial, bool averaged) {
  std::optional<NamePattern> pattern;
  if (partial && !partial->missing.empty())
    pattern.emplace(partial->missing);
  SafetensorsReader reader(path);
  verify(reader);
  NetworkReader network(reader, averaged);
  std::vector<std::pair<const Variable *, const Array *>> found;
  std::vector<std::string> kept;
  bool matched = false;
  const std::string may = partial ? "; parameters that --init-missing=REGEX names keep their initial values" : "";
  for (const Variable *v : savedVariables(session)) {
    if (v->role != "parameter" && v->role != "buffer")
      continue;
    bool allowed = pattern && pattern->matches(v->userName());
    matched |= allowed;
    const Array *array = network.find(*v);
    if (!array && v->role == "buffer" && !allowed)
      continue;
    std::string conflict = array ? shapeConflict(*v, *array) : "is not there";
    if (conflict.empty() && isFloat(v->dtype) != isFloat(array->dtype))
      conflict = concat("is of type ", nameOf(array->dtype), ", the program needs ", nameOf(v->dtype));
    if (conflict.empty()) {
      found.push_back({v, array});
    } else if (allowed) {
      kept.push_back(concat("'", v->userName(), "' keeps its initial value: in ", path, " it ", conflict));
    } else if (!array) {
      fail(path, concat("has no tensor '", v->userName(), "' (", nameOf(v->dtype), " ", toString(v->shape), ")"),
           "every parameter must be in the file under its ONNX name" + may);
    } else {
      fail(concat(path, ": ", v->userName()), conflict, "use a file of the same model" + may);
    }
  }
  if (pattern && !matched)
    fail("--init-missing", concat("'", partial->missing, "' matches no parameter"),
         "`mpc check` lists the parameters of the model");
  if (found.empty())
    fail(path, "holds none of the program's parameters", "use a file of the same model");
  for (auto [v, array] : found)
    if (std::optional<Error> error = attempt([&] { session.checkVariable(v->name, array->view()); }))
      fail(path, error->clause(), error->hint());
  for (auto [v, array] : found)
    session.setVariable(v->name, array->view());
  if (partial && partial->note)
    for (const std::string &line : kept)
      partial->note(line);
  return network.averages();
}

std::optional<Preprocessing> preprocessingOf(const std::string &path) {
  SafetensorsReader reader(path);
  return Preprocessing::parse(reader.metadata(kPreprocessing), path);
}

std::vector<std::string> classesOf(const std::string &path) { return classesIn(SafetensorsReader(path)); }

std::optional<Cursor> loadState(Session &session, const std::string &path) {
  if (isCheckpoint(SafetensorsReader(path)))
    return loadCheckpoint(session, path);
  loadParameters(session, path);
  return std::nullopt;
}

/// Throws unless the batches are equal: epochs, the order of the samples and the micro-batches of an update depend on
/// the program's batches, which the variables do not show.
static void checkBatches(const Manifest &manifest, const SafetensorsReader &reader) {
  auto check = [&](const char *key, const std::string &own, const std::string &what, const std::string &option,
                   const std::string &absent = "") {
    std::string found = reader.metadata(key);
    if (found.empty())
      found = absent;
    if (!found.empty() && found != own) // the first checkpoints do not contain them
      fail(reader.path(), concat("comes from training with ", what, " ", found, "; this program's is ", own),
           concat("resume with a program compiled with that ", option,
                  ", or start anew from its parameters with --init"));
  };
  check("batch_size", concat(manifest.batch), "a batch of", "--batch");
  check("accumulate", eachText(manifest, &Step::accumulate), "an accumulation of", "--accumulate");
  std::string ones; // before there was --step=...:every=K
  for (size_t i = 0; i < manifest.steps.size(); ++i)
    ones += i == 0 ? "1" : ",1";
  check("every", eachText(manifest, &Step::every), "steps on each K-th batch with K =", "every= of --step", ones);
}

/// Returns the names of a folder's files, in no order. Throws Error. It does not use std::filesystem's iterator, which
/// in libstdc++ 12 ends the process when memory runs out.
static std::vector<std::string> namesIn(const std::string &folder) {
  std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(folder.c_str()), closedir);
  if (!open && errno != ENOENT)
    failErrno(folder, "cannot be read", errno);
  std::vector<std::string> names;
  while (const dirent *entry = open ? readdir(open.get()) : nullptr)
    names.emplace_back(entry->d_name);
  return names;
}

CheckpointFolder::CheckpointFolder(std::string folder, int64_t keep, const NoteSink &note)
    : folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!std::filesystem::is_directory(folder_, error))
    fail(folder_, "cannot create the checkpoint folder", "check the path and its permissions");
  lock_.emplace(folder_, note);
  for (const std::string &name : namesIn(folder_))
    if (AtomicFile::isAbandoned(name))
      unlink((folder_ + "/" + name).c_str());
}

static std::string pathIn(const std::string &folder, int64_t iteration) {
  char name[64];
  std::snprintf(name, sizeof name, "step-%08lld.safetensors", static_cast<long long>(iteration));
  return folder + "/" + name;
}

/// Returns the iterations of a folder's checkpoints in ascending order.
static std::vector<int64_t> iterationsIn(const std::string &folder) {
  std::vector<int64_t> found;
  for (const std::string &name : namesIn(folder)) {
    int64_t iteration = 0;
    if (!name.starts_with("step-"))
      continue;
    auto [end, code] = std::from_chars(name.data() + 5, name.data() + name.size(), iteration);
    // Names that pathOf does not write ("step-5.safetensors", "step-00000005 (copy).safetensors") belong to
    // somebody else.
    if (code == std::errc() && iteration >= 0 && pathIn(folder, iteration) == folder + "/" + name)
      found.push_back(iteration);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string newestSound(const std::string &folder, const NoteSink &damaged) {
  std::vector<int64_t> all;
  (void)attempt([&] { all = iterationsIn(folder); }); // who opens the folder reports what is wrong with it
  std::string path;
  for (size_t i = all.size(); i-- > 0;) {
    path = pathIn(folder, all[i]);
    std::optional<Error> error = attempt([&] { verify(SafetensorsReader(path)); });
    if (!error)
      break;
    if (damaged)
      damaged(error->what());
    path.clear();
  }
  return path;
}

std::string optionsOfNewest(const std::string &folder) {
  const std::string newest = newestSound(folder);
  return newest.empty() ? "" : SafetensorsReader(newest).metadata(kOptions);
}

std::string CheckpointFolder::pathOf(int64_t iteration) const { return pathIn(folder_, iteration); }

bool CheckpointFolder::empty() const { return iterationsIn(folder_).empty(); }

std::string CheckpointFolder::newestFinite(const Manifest &manifest, const std::set<std::string> &except) const {
  std::vector<int64_t> all = iterationsIn(folder_);
  for (size_t i = all.size(); i-- > 0;) {
    bool good = true;
    std::optional<Error> damaged = attempt([&] {
      SafetensorsReader reader(pathOf(all[i]));
      verify(reader);
      for (const auto &[name, array] : reader.tensors()) {
        const Variable *variable = manifest.variable(name);
        Numbers numbers{array.dtype};
        if (variable && variable->role == "parameter" && isFloat(array.dtype) && except.count(name) == 0)
          numbers.add(array.data, size_t(array.elements()));
        good &= numbers.finite();
      }
    });
    if (good && !damaged)
      return pathOf(all[i]);
  }
  return "";
}

void CheckpointFolder::save(const Session &session, const Cursor &cursor) {
  saveCheckpoint(session, cursor, pathOf(cursor.iteration));
  std::vector<int64_t> all = iterationsIn(folder_);
  std::error_code error;
  if (keep_ > 0)
    for (size_t i = 0; i + size_t(keep_) < all.size(); ++i)
      if (all[i] != cursor.iteration)
        std::filesystem::remove(pathOf(all[i]), error);
}

static std::string bestIn(const std::string &folder) { return folder + "/best.safetensors"; }

void CheckpointFolder::saveBest(const Session &session, const Cursor &cursor) const {
  saveCheckpoint(session, cursor, bestIn(folder_));
}

bool CheckpointFolder::hasBest() const { return access(bestIn(folder_).c_str(), F_OK) == 0; }

std::string CheckpointFolder::watchesOfBest() const { return SafetensorsReader(bestIn(folder_)).metadata(kWatches); }

std::optional<Cursor> CheckpointFolder::resume(Session &session, const NoteSink &note) {
  std::string damaged;
  const std::string newest = newestSound(folder_, [&](const std::string &what) {
    if (note)
      note(concat("skipping a damaged checkpoint: ", what));
    damaged += concat(damaged.empty() ? "" : "; ", what);
  });
  if (!newest.empty()) {
    SafetensorsReader reader(newest);
    Cursor cursor = loadFrom(session, reader);
    checkBatches(session.manifest(), reader);
    if (const std::string other = otherTraining(session, reader); note && !other.empty())
      note(other);
    return cursor;
  }
  // To start from the beginning would replace the checkpoints, which somebody may still have a copy of or repair.
  if (!damaged.empty())
    fail(folder_, "all its checkpoints are damaged: " + damaged,
         "put a sound copy of one into the folder; to start from the beginning, give another --checkpoint-dir or move "
         "these files away");
  return std::nullopt;
}

} // namespace mpc::rt
