// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The manifest of a program as plain structs; runtime/abi/README.md says what each field means.
#pragma once

#include "mpc/library.h"
#include "runtime/core/Tensor.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::rt {

struct Init {
  enum Kind { Data, Fill, Copy, Normal, Uniform, Seed } kind = Fill;
  int64_t offset = 0, bytes = 0; // Data
  double first = 0, second = 0;  // Fill: value; Normal: mean, stddev; Uniform: low, high
};

/// Says which values of the ONNX model a variable of the network stands for.
struct Origin {
  std::string name =
      {}; // an initializer or a graph input; with `input` >= 0, the name that the node's input has in the model
  std::string node = {}; // the node's first output; "" if the node lies in a function
  int64_t input = -1;    // >= 0: the values serve only this input of `node`
};

/// A variable of role "state" is carried from batch to batch: an epoch, an evaluation and a prediction start with its
/// initial value, and each batch leaves the next one its value.
struct Variable {
  std::string name, role, of, step;
  Origin origin;
  /// The name by which the user knows the variable.
  const std::string &userName() const { return origin.input < 0 ? origin.name : name; }
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  Init init;
};

struct Hyper {
  std::string name, variable;
  double standard = 0; // the default from compile time
};

struct Scaler {
  std::string kind;                    // static, dynamic, calibrate
  std::string scale, tracker, skipped; // variables; "" if there is none: a static scale is `value`
  double value = 1;
  /// A limit of a dynamic scale: a change that would pass `bound` stops there. `factor` is what the scale is multiplied
  /// with to shrink or grow.
  struct Bound {
    double bound, factor;
  };
  std::optional<Bound> lower, upper;
  int64_t hysteresis = 1; // overflows until a dynamic scale shrinks; when the scale grows, the count starts anew
};

/// Parameters whose learning rate is `rate` times that of their step, with a weight decay of their own.
struct ParameterGroup {
  std::string match; // regular expression, as the user wrote it; "" for the parameters that are in no group
  double rate = 1;
  std::optional<double> weightDecay = {};
  std::vector<std::string> parameters; // the names by which the user knows them
};

struct Step {
  std::string name, optimizer, entry;
  std::string traceEntry; // runs the same step with gradients as outputs; "" if there is none
  std::vector<Hyper> hyper;
  std::vector<std::pair<std::string, double>> fixed; // hyperparameters that were chosen at compile time
  std::vector<ParameterGroup> groups;                // empty if the user made none
  std::optional<Scaler> scaler;
  Hyper nanGuard; // while not 0, a step whose loss is not finite updates nothing; its variable is "" if there is none
  int64_t accumulate = 1;
  int64_t every = 1; // the step runs on each batch of a training whose number, counted from 1, is a multiple of it

  bool runs(int64_t iteration) const { return (iteration + 1) % every == 0; }
  /// Returns whether the step runs in this iteration and its update is due.
  bool updates(int64_t iteration) const { return (iteration + 1) % (every * accumulate) == 0; }
};

struct Metric {
  std::string name, kind, logits, labels;
  int64_t axis = 1;                    // the logits' class axis
  std::optional<int64_t> ignored = {}; // a class whose labels are not counted
  // These are of `map`, whose `logits` are the scores of anchors, and whose `labels` are the classes of true boxes.
  std::string detections = {}, boxes = {}; // an output with the boxes of the anchors, and an input with the true boxes
  double nms = 0, scoreThreshold = 0;
  int64_t maxDetections = 0; // of a picture
  double iou = 0;            // where the average precision is taken; 0: the mean over 0.50, 0.55, …, 0.95
};

/// Names the scores whose labels an input holds: numbers of classes, or, where the input takes floats, probabilities.
struct LabelsOf {
  std::string scores;
  Shape shape;
  int64_t axis = 1;     // axis of the classes
  bool assumed = false; // the user named no loss
  /// Returns "'logits' [samples,16,65] with its classes along dimension 2".
  std::string text() const;
};

/// Says that an input holds a row of classes for each sample, none of them the blank (train.sequences).
struct Sequences {
  std::string lengths, inputLengths; // inputs; the second may be empty
  int64_t blank = 0, classes = 0, frames = 0;
  bool zeroInfinity = false; // whether the frames of a sample need not be able to spell its row
};

/// Integers that an input may hold.
struct Range {
  std::string what;            // what the numbers count: "label", "index", "length"
  int64_t low = 0, below = 0;  // [low, below)
  std::optional<int64_t> also; // a label that the loss ignores
  // The range applies to the part [from, to) of a sample, without the batch's dimension; empty: to all of it.
  std::vector<int64_t> from = {}, to = {};
  bool holds(int64_t value) const { return (value >= low && value < below) || value == also; }
  /// Returns whether an element of a tensor of the shape, with any number of samples, lies in the part.
  bool covers(int64_t element, const Shape &shape) const;
  /// Returns "[0, 10) or -100".
  std::string text() const;
  /// Returns "[:, 1:2]", or "" for all of a sample.
  std::string part() const;
};

/// An input or an output of an entry.
struct Port {
  std::string name, role, of;
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  int64_t offset = 0, bytes = 0;
  std::vector<int64_t> permutation;
  bool batched =
      false;          // the leading dimension counts samples; for an output: each part depends on its own sample alone
  bool fixed = false; // an output that depends on no sample
  std::vector<Range> ranges; // values must lie in all of them
  std::optional<LabelsOf> labelsOf = {};
  std::optional<Sequences> sequences = {};

  /// Returns whether the port takes a probability for each class of scores, along labelsOf->axis.
  bool takesProbabilities() const { return labelsOf && isFloat(dtype); }
  /// Returns the port that would take the numbers of classes in place of their probabilities.
  Port ofClassNumbers() const;
  /// Returns "label -1, not in [0, 10)" for an integer that the port may not hold as this element; "" for
  /// a permitted one.
  std::string refusal(int64_t value, int64_t element) const;
};

/// A range of floats in the arena.
struct FloatTensor {
  int64_t offset = 0;
  mpc_dtype dtype = MPC_F32;
  int64_t count = 0;
  int64_t bytes() const { return count * int64_t(sizeOf(dtype)); }
};

struct Launch {
  std::string name, loc;
  std::string kernel;                      // symbol; empty for a library call
  std::array<int64_t, 3> grid = {0, 1, 1}; // kernels; the host uses the first axis only
  int64_t grain = 1;                       // kernels of the host
  std::optional<mpc_library_desc> library; // library calls
  int64_t scratch = 0, scratchBytes = 0;
  std::vector<int64_t> args;     // arena offsets
  std::vector<int64_t> argBytes; // GPUs: the bytes that the kernel may touch behind each arg
  std::vector<int64_t> writes;   // GPUs: positions of the args that are written
  // These describe the launch in reports; they are empty or 0 if the manifest does not say. `flops`: two for each
  // multiply-add.
  std::string kind;
  int64_t readBytes = 0, writtenBytes = 0;
  double flops = 0;
  // A dispatch may be several launches: the first has its operands, the last its results and nodes.
  std::vector<FloatTensor> operands, results;
  std::vector<std::string> nodes; // of ONNX; empty: `loc` is the only node
};

/// Describes a tensor to a kernel; a launch passes it after the kernel's pointers. It describes the tensor that one of
/// the pointers points to, and the boxes of it that the tensor memory accelerator moves
/// (dialects/Kernel/IR/HopperOps.td). The lists begin with the innermost dimension.
struct TensorMap {
  int64_t arg = 0; // position of the launch's argument
  mpc_dtype dtype = MPC_F16;
  std::vector<int64_t> sizes, strides, box, steps; // elements, bytes, elements, elements
  int64_t swizzle = 0;                             // bytes
  int64_t pixels = 0;                              // number of pixels of a box in im2col mode
  std::vector<int64_t> lower, upper;               // im2col
};

/// A kernel of a GPU plan.
struct GpuKernel {
  std::string symbol;
  int64_t module = 0;      // number of the plan's module
  int64_t threads = 0;     // threads of a block
  int64_t sharedBytes = 0; // dynamic shared memory
  int64_t resident = 0;    // start at most so many blocks for each multiprocessor; 0: start as many as the grid has
  int64_t cluster = 1;     // blocks that start together
  std::vector<TensorMap> tensorMaps;

  /// Returns the number of blocks along x to start for a grid, on a GPU with so many multiprocessors.
  int64_t blocks(int64_t grid, int64_t multiprocessors) const {
    int64_t most = std::max(resident * multiprocessors / cluster, int64_t(1)) * cluster;
    return resident == 0 ? grid : std::min(grid, most);
  }
};

/// A unit that the driver loads, as names of sections; the cubin's is "" if there is none.
struct GpuModule {
  std::string ptx, cubin;
};

struct Entry {
  std::string name, kind;
  std::vector<Port> inputs, outputs;
  std::vector<Launch> launches;

  const Port *input(std::string_view name) const;
  const Port *output(std::string_view name) const;
  /// Returns the first output of that role, or null.
  const Port *outputOfRole(std::string_view role) const;
};

struct Storage {
  std::string variable;
  int64_t offset = 0, bytes = 0;
  std::vector<int64_t> permutation;
};

struct Constant {
  int64_t offset = 0, bytes = 0, dataOffset = 0;
};

/// A GPU architecture that the compiler makes kernels for.
struct Architecture {
  std::string name;   // "sm_90a": what --target calls it
  int64_t compute;    // 90 for compute capability 9.0
  bool exact = false; // its kernels run on this compute capability alone, and not on newer ones

  bool runsOn(int64_t gpu) const { return exact ? gpu == compute : gpu >= compute; }
  /// Returns whether kernels for this architecture are the better choice where those for both run.
  bool isBetterThan(const Architecture &other) const {
    return compute != other.compute ? compute > other.compute : exact && !other.exact;
  }
};

struct Plan {
  std::string target;
  std::optional<Architecture> gpu; // absent for the host
  int64_t arenaBytes = 0, stateBytes = 0, savedBytes = 0, peakBytes = 0;
  std::vector<Storage> storage;
  std::vector<Constant> constants;
  std::vector<Entry> entries;
  std::vector<GpuKernel> kernels; // GPUs
  std::vector<GpuModule> modules;

  const Entry *entry(std::string_view name) const;
  /// Returns the first entry of that kind ("train", "eval", "predict"), or null.
  const Entry *entryOfKind(std::string_view kind) const;
};

struct Manifest {
  std::string producer, model, precisionType, optLevel, loss;
  int64_t batch = 1;
  std::vector<Variable> variables;
  std::vector<Step> steps;
  std::vector<Metric> metrics;
  std::vector<Architecture> architectures; // all that the compiler knows; programs for the host alone have none
  std::vector<Plan> plans;

  const Variable *variable(std::string_view name) const;
  /// Returns the first state that is carried from batch to batch, or null.
  const Variable *carriedState() const;
  const Plan *plan(std::string_view target) const;
  /// Returns the architecture to compile for, for a GPU of this compute capability; null where there is none.
  const Architecture *architectureFor(int64_t compute) const;

  /// Parses and checks the manifest: types and kinds must be known, offsets must lie inside the arena and the data
  /// section, sizes must agree with shapes, and names must resolve. `where` names the file in errors. Throws Error.
  static Manifest parse(std::string_view json, int64_t dataBytes, const std::string &where);
};

} // namespace mpc::rt
