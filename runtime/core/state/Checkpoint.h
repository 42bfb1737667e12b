// The state of a training on disk: every variable in logical order under its name, plus where the training
// stood.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/support/FileLock.h"

#include <optional>
#include <set>

namespace mpc::rt {

/// Where a training stands. The order of the samples follows from seed and epoch, so this is all it takes.
struct Cursor {
  int64_t iteration = 0;        // steps done, skipped ones included
  int64_t epoch = 0, batch = 0; // the next batch
  int64_t samples = 0;          // of the training data; 0 = unknown
  uint64_t seed = 0;
  bool shuffle = true;
};

/// Writes all variables of the plan except copies (rounded from their masters when loaded) and
/// hyperparameters (written before each step). Durable when it returns; throws Error, leaving nothing behind.
void saveCheckpoint(const Session &session, const Cursor &cursor, const std::string &path);

/// Loads a whole training state. Nothing is changed unless everything fits: every variable there, same shape
/// and type, none foreign, checksum right. Throws Error that names the tensor.
Cursor loadCheckpoint(Session &session, const std::string &path);

/// What a file of parameters may lack.
struct PartialInit {
  /// POSIX extended, matches anywhere in a parameter's or buffer's name: those that may be absent from the file, or have
  /// another shape or type there. They keep their values. Empty: none.
  std::string missing;
  NoteSink note = {}; // gets a line for each that does
};

/// Loads parameters (and buffers, where the file has them) from a checkpoint, of another program too, or from
/// plain safetensors, whose tensors bear the names of the ONNX initializers; f16, bf16 and f64 are converted.
/// Other tensors are ignored. Throws Error, and changes nothing, for missing parameters, other shapes and
/// values that the parameters' types cannot represent, and for a pattern that no parameter or buffer matches. `partial`:
/// null where all have to be there.
void loadParameters(Session &session, const std::string &path, const PartialInit *partial = nullptr);

/// loadCheckpoint for a checkpoint of training, whose cursor it returns; loadParameters for other
/// safetensors.
std::optional<Cursor> loadState(Session &session, const std::string &path);

/// The checkpoints of one training: step-00000123.safetensors, named by iteration. Files of other names are
/// left alone.
class CheckpointFolder {
public:
  /// Creates the folder, locks it against other trainings (FolderLock), and removes what killed processes of
  /// this host left half-written. `keep`: how many to keep, 0 = all.
  CheckpointFolder(std::string folder, int64_t keep, const NoteSink &note = {});
  void save(const Session &session, const Cursor &cursor);
  /// Loads the newest valid checkpoint; damaged ones are skipped with a note. Empty when there is none.
  /// Throws Error when the newest sound one belongs to another model, or to a program of other batches.
  std::optional<Cursor> resume(Session &session, const NoteSink &note);
  /// The newest sound checkpoint whose parameters are all finite, but for some that need not be (`except`); "" when there is none.
  std::string newestFinite(const Manifest &manifest, const std::set<std::string> &except = {}) const;
  std::string pathOf(int64_t iteration) const;
  bool empty() const { return iterations().empty(); }

private:
  std::vector<int64_t> iterations() const; // ascending
  std::string folder_;
  int64_t keep_;
  std::optional<FolderLock> lock_;
};

} // namespace mpc::rt
