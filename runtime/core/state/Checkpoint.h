// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a training on disk: every variable in logical order under its name, plus the position of the training.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/core/data/Preprocessing.h"
#include "runtime/support/FileLock.h"

#include <optional>
#include <set>

namespace mpc::rt {

/// The position of a training, and what it does to its inputs. The order of the samples follows from seed and epoch, so
/// this is all that is needed.
struct Cursor {
  int64_t iteration = 0;        // steps done, including skipped ones
  int64_t epoch = 0, batch = 0; // position of the next batch
  int64_t samples = 0;          // number of samples of the training data; 0 = unknown
  uint64_t seed = 0;
  bool shuffle = true;
  /// This says what the training does to its inputs. It has no value where that is not known: in older checkpoints, and
  /// where an embedder prepares the inputs.
  std::optional<Preprocessing> preprocessing = {};
  std::vector<std::string> classes = {}; // Dataset::classes
  std::string augmentation = {};         // Dataset::augmentation
  std::string options = {};              // TrainOptions::typed
  std::string watches = {};              // the best values so far (Watches::state)
  bool evaluationDue = false;            // the user ended the evaluation behind the last step
};

/// Writes all variables of the plan except copies (rounded from their masters when loaded) and hyperparameters
/// (written before each step). Moving averages, which only start as copies, are written. The file is durable when the
/// function returns; on failure it throws Error and leaves nothing behind.
void saveCheckpoint(const Session &session, const Cursor &cursor, const std::string &path);

/// Loads a whole training state. Nothing is changed unless everything fits: every variable must be there with the same
/// shape and type, no other tensor may be there, and the checksums must be right. Throws Error that names the tensor.
Cursor loadCheckpoint(Session &session, const std::string &path);

/// Says what a file of parameters may lack.
struct PartialInit {
  /// POSIX extended regular expression that matches anywhere in a parameter's or buffer's name. Matching ones may be
  /// absent from the file, or have another shape or type there; they then keep their values. Empty: none may be absent.
  std::string missing;
  NoteSink note = {}; // receives a line for each parameter that keeps its value
};

/// Loads parameters (and buffers, if the file has them) from a checkpoint, possibly of another program, or from plain
/// safetensors, whose tensors have the names of the ONNX initializers; f16, bf16 and f64 are converted. Other tensors
/// are ignored. Throws Error, and changes nothing, for missing parameters, other shapes and values that the parameters'
/// types cannot represent, and for a pattern that no parameter or buffer matches. `partial`: null if all must be there.
/// `averaged`: parameters get the moving averages that the file has of them. Returns the number of those averages.
size_t loadParameters(Session &session, const std::string &path, const PartialInit *partial = nullptr,
                      bool averaged = false);

/// Returns what a safetensors file says about the inputs of its training; nothing if it does not say. Throws Error.
std::optional<Preprocessing> preprocessingOf(const std::string &path);
/// Returns the names of the classes that the training of a safetensors file had, in the order of their numbers; empty
/// if it does not say. Throws Error.
std::vector<std::string> classesOf(const std::string &path);
/// Returns the checkpoint of a folder that CheckpointFolder::resume loads: the newest one with the right checksums; ""
/// where there is none. `damaged` receives what is wrong with each newer one.
std::string newestSound(const std::string &folder, const NoteSink &damaged = {});
/// Returns the options of that checkpoint's training (Cursor::options); "" if it does not say.
std::string optionsOfNewest(const std::string &folder);

/// Calls loadCheckpoint for a checkpoint of training and returns its cursor; calls loadParameters for
/// other safetensors.
std::optional<Cursor> loadState(Session &session, const std::string &path);

/// The checkpoints of one training: step-00000123.safetensors, named by iteration, and best.safetensors. Files of other
/// names are left alone.
class CheckpointFolder {
public:
  /// Creates the folder, locks it against other trainings (FolderLock), and removes the half-written files of killed
  /// processes of this host. `keep`: how many checkpoints to keep, 0 = all.
  CheckpointFolder(std::string folder, int64_t keep, const NoteSink &note = {});
  void save(const Session &session, const Cursor &cursor);
  /// Writes best.safetensors, which `keep` does not count, and which `resume` does not load.
  void saveBest(const Session &session, const Cursor &cursor) const;
  bool hasBest() const;
  /// Returns Cursor::watches of best.safetensors.
  std::string watchesOfBest() const;
  /// Loads the newest valid checkpoint; damaged ones are skipped with a note. Returns nothing when the folder has no
  /// checkpoint. A note says where the program trains in another way than the checkpoint's. Throws Error when all of
  /// them are damaged, and when the newest sound one belongs to another model, or to a program with other batches.
  std::optional<Cursor> resume(Session &session, const NoteSink &note);
  /// Returns the newest sound checkpoint whose parameters are all finite, except for those in `except`, which need not
  /// be; "" when there is none.
  std::string newestFinite(const Manifest &manifest, const std::set<std::string> &except = {}) const;
  std::string pathOf(int64_t iteration) const;
  bool empty() const;

private:
  std::string folder_;
  int64_t keep_;
  std::optional<FolderLock> lock_;
};

} // namespace mpc::rt
