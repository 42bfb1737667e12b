// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/InferenceForm.h"
#include "compiler/Export/Onnx/Preprocess.h"
#include "compiler/Export/Onnx/Tensors.h"
#include "dialects/Support/InputFile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_export;
using onnx_import::fail;
using onnx_import::ImportError;
using onnx_import::printable;

static const char kSameTraining[] = "give the model and the checkpoint of one training";
static const char kSameModel[] = "give the ONNX file that the program was compiled from";

/// Returns `name`, or name_0, name_1, ... if that is taken.
static std::string fresh(const std::string &name, llvm::function_ref<bool(const std::string &)> taken) {
  std::string result = name;
  for (int i = 0; taken(result); ++i)
    result = name + "_" + std::to_string(i);
  return result;
}

static ArrayRef<int64_t> shapeOf(const onnx::TensorProto &tensor) {
  return {tensor.dims().data(), size_t(tensor.dims_size())};
}

/// Returns UNDEFINED for types that no buffer has.
static int32_t onnxType(mpc_dtype type) {
  switch (type) {
  case MPC_F16:
    return onnx::TensorProto::FLOAT16;
  case MPC_BF16:
    return onnx::TensorProto::BFLOAT16;
  case MPC_F32:
    return onnx::TensorProto::FLOAT;
  case MPC_F64:
    return onnx::TensorProto::DOUBLE;
  default:
    return onnx::TensorProto::UNDEFINED;
  }
}

static std::string folderOf(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

namespace {
/// Writes values into a model. The program's names are printable forms of the model's. All functions throw ImportError.
class Placer {
public:
  /// `written` maps values to the buffers that the network writes them to.
  Placer(MLIRContext &context, onnx::ModelProto &model, const std::string &path,
         const std::map<std::string, std::string> &written);
  /// Returns false when there is no place and none is required.
  bool place(const TrainedTensor &);
  /// Removes the Constants that are no longer read since their readers got values of their own.
  void dropUnread();

private:
  bool placeByName(const TrainedTensor &);
  void placeAtNode(const TrainedTensor &);
  onnx::NodeProto &nodeOf(const TrainedTensor &);
  /// Adds an initializer to the main graph.
  onnx::TensorProto &addInitializer(const std::string &name, int32_t type, ArrayRef<int64_t> shape);
  /// The tensor of an initializer or of a Constant; null for other values.
  const onnx::TensorProto *known(const std::string &value) const;
  void setValues(onnx::TensorProto &, const TrainedTensor &);

  MLIRContext &context;
  onnx::ModelProto &model;
  const std::string &path;
  const std::map<std::string, std::string> &written;
  llvm::StringSet<> names;                                           // those of all values
  llvm::StringMap<SmallVector<onnx::TensorProto *, 1>> initializers; // those of the main graph, by printable name
  llvm::StringMap<const onnx::ValueInfoProto *> inputs;              // likewise
  llvm::StringMap<SmallVector<onnx::NodeProto *, 1>> nodes;          // those of all graphs, by printable first output
  llvm::StringMap<const onnx::TensorProto *> constants;              // by the Constant's output
  llvm::StringSet<> rewired;                                         // values that a node no longer reads
};
} // namespace

Placer::Placer(MLIRContext &context, onnx::ModelProto &model, const std::string &path,
               const std::map<std::string, std::string> &written)
    : context(context), model(model), path(path), written(written) {
  onnx::GraphProto &main = *model.mutable_graph();
  for (onnx::TensorProto &initializer : *main.mutable_initializer())
    initializers[printable(initializer.name())].push_back(&initializer);
  for (const onnx::ValueInfoProto &input : main.input())
    inputs[printable(input.name())] = &input;
  forEachGraph(main, [&](onnx::GraphProto &graph) {
    for (const auto &initializer : graph.initializer())
      names.insert(initializer.name());
    for (const auto &initializer : graph.sparse_initializer())
      names.insert(initializer.values().name());
    for (const auto &input : graph.input())
      names.insert(input.name());
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      names.insert(node.output().begin(), node.output().end());
      auto first = llvm::find_if(node.output(), [](const std::string &output) { return !output.empty(); });
      if (first == node.output().end())
        continue;
      nodes[printable(*first)].push_back(&node);
      if (node.op_type() == "Constant")
        for (const auto &attribute : node.attribute())
          if (attribute.has_t())
            constants[*first] = &attribute.t();
    }
  });
}

onnx::TensorProto &Placer::addInitializer(const std::string &name, int32_t type, ArrayRef<int64_t> shape) {
  onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  return tensor;
}

const onnx::TensorProto *Placer::known(const std::string &value) const {
  auto initializer = initializers.find(printable(value));
  return initializer != initializers.end() ? initializer->second.front() : constants.lookup(value);
}

void Placer::setValues(onnx::TensorProto &tensor, const TrainedTensor &trained) {
  Type element = onnx_import::elementType(&context, tensor.data_type());
  // A buffer that the network updates may hold integers, as a count of steps.
  const bool written = llvm::any_of(this->written, [&](const auto &pair) { return pair.second == tensor.name(); });
  if (!isa_and_nonnull<FloatType>(element) && !(written && isa_and_nonnull<IntegerType>(element)))
    fail(path, "initializer '" + printable(tensor.name()) + "' is not of a float type", kSameTraining);
  auto type = RankedTensorType::get(trained.shape, element);
  std::vector<double> values = trained.values();
  onnx_import::HostTensor rounded =
      isa<FloatType>(element)
          ? onnx_import::HostTensor::fromDoubles(type, values)
          : onnx_import::HostTensor::fromInts(type, std::vector<int64_t>(values.begin(), values.end()));
  assert(rounded.bytes->size() == values.size() * onnx_import::elementBytes(element) && "no splat");
  setBytes(tensor, *rounded.bytes);
}

bool Placer::placeByName(const TrainedTensor &trained) {
  auto at = initializers.find(trained.name);
  onnx::TensorProto *initializer = nullptr;
  if (at != initializers.end()) {
    if (at->second.size() > 1)
      fail(path, "has several initializers called '" + trained.name + "'", "give each initializer a name of its own");
    initializer = at->second.front();
  } else if (const onnx::ValueInfoProto *input = inputs.lookup(trained.name)) {
    initializer = &addInitializer(input->name(), input->type().tensor_type().elem_type(), trained.shape);
  } else if (trained.required) {
    fail(path, "has no initializer or input '" + trained.name + "', which the program trained", kSameModel);
  } else {
    return false;
  }
  if (shapeOf(*initializer) != ArrayRef<int64_t>(trained.shape))
    fail(path, "initializer '" + trained.name + "' has another shape in the checkpoint", kSameTraining);
  setValues(*initializer, trained);
  return true;
}

onnx::NodeProto &Placer::nodeOf(const TrainedTensor &trained) {
  if (trained.node.empty())
    fail(path, "has no place for '" + trained.variable + "': its node is in a function, whose body serves all calls",
         "inline the model's functions (onnx.inliner), compile that model, and train it");
  auto found = nodes.find(trained.node);
  if (found == nodes.end())
    fail(path, "has no node that makes '" + trained.node + "', to which '" + trained.variable + "' belongs",
         kSameModel);
  if (found->second.size() > 1)
    fail(path, "has several nodes that make '" + trained.node + "', to one of which '" + trained.variable + "' belongs",
         "give the values of its branches names of their own");
  onnx::NodeProto &node = *found->second.front();
  if (trained.input >= node.input_size() || node.input(int(trained.input)).empty())
    fail(path,
         "the node that makes '" + trained.node + "' has no input " + std::to_string(trained.input) + ", where '" +
             trained.variable + "' belongs",
         kSameModel);
  return node;
}

void Placer::placeAtNode(const TrainedTensor &trained) {
  onnx::NodeProto &node = nodeOf(trained);
  std::string &input = *node.mutable_input(int(trained.input));
  const onnx::TensorProto *old = known(input);
  ArrayRef<int64_t> shape = trained.shape;
  if (old && shapeOf(*old) != shape)
    fail(path,
         "'" + printable(input) + "', which the node that makes '" + trained.node +
             "' reads, has another shape in the checkpoint",
         kSameTraining);
  std::string name = fresh(trained.variable, [&](const std::string &text) { return names.contains(text); });
  names.insert(name);
  int32_t type = onnxType(trained.type);
  setValues(addInitializer(name, type, shape), trained);
  if (model.ir_version() < 4) { // in these versions every initializer is an input, too (onnx IR.md)
    onnx::ValueInfoProto &info = *model.mutable_graph()->add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    for (int64_t extent : shape)
      info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
  }
  rewired.insert(input);
  input = name;
}

bool Placer::place(const TrainedTensor &trained) {
  if (trained.input < 0)
    return placeByName(trained);
  placeAtNode(trained);
  return true;
}

void Placer::dropUnread() {
  onnx::GraphProto &main = *model.mutable_graph();
  std::vector<std::string> reads;
  for (const onnx::NodeProto &node : main.node())
    onnx_import::collectUses(node, reads);
  for (const auto &output : main.output())
    reads.push_back(output.name());
  llvm::StringSet<> read;
  read.insert(reads.begin(), reads.end());
  auto unread = [&](const onnx::NodeProto &node) {
    return node.op_type() == "Constant" && node.output_size() == 1 && rewired.contains(node.output(0)) &&
           !read.contains(node.output(0));
  };
  auto &list = *main.mutable_node();
  list.erase(std::remove_if(list.begin(), list.end(), unread), list.end());
}

bool mpc::exportOnnx(MLIRContext &context, const std::string &path, const std::string &output,
                     std::optional<ArrayRef<TrainedTensor>> tensors, Inference form, ExportedModel &exported,
                     ExportError &error, int64_t maxBytes, const TrainedInputs &inputs) {
  try {
    std::string why;
    std::unique_ptr<llvm::MemoryBuffer> file = readRegularFile(path, why);
    if (!file)
      fail(path, why, kSameModel);
    const std::string folder = folderOf(path);
    onnx_import::Model parsed(file->getBuffer(), path, folder);
    // The program was compiled from the result of restore(). The program's names tell which initializers had
    // a copy for each use (--untie).
    if (tensors)
      parsed.restore(&context, [&](StringRef name) {
        return llvm::any_of(*tensors, [&](const TrainedTensor &t) {
          return t.node.empty() && StringRef(t.name).starts_with(name.str() + "@");
        });
      });
    onnx::ModelProto &model = parsed.proto;

    exported.sources = {path};
    for (const std::string &name : dataFiles(model))
      exported.sources.push_back(folder + "/" + name);

    const std::map<std::string, std::string> written = parsed.writtenBuffers(&context);
    Placer placer(context, model, path, written);
    if (tensors)
      exported.replaced = llvm::count_if(*tensors, [&](const TrainedTensor &tensor) { return placer.place(tensor); });
    if (exported.replaced == 0 && tensors)
      fail(path, "has no initializer that the checkpoint names", kSameTraining);
    placer.dropUnread();
    exported.inference = toInferenceForm(context, model, form, path, folder, written);
    if (!inputs.nodes.empty())
      exported.preprocessed = putInFront(context, model, inputs.nodes, path);
    if (inputs.metadata)
      setPreprocessing(model, *inputs.metadata);

    bool stays = false;
    if (llvm::sys::fs::equivalent(folder, folderOf(output), stays) ||
        !stays) // an error, because there is no such folder
      readDataFiles(context, model, folder);
    if (int64_t(model.ByteSizeLong()) > maxBytes) {
      std::set<std::string> taken = dataFiles(model);
      exported.dataFile = fresh(llvm::sys::path::filename(output).str() + ".data",
                                [&](const std::string &name) { return taken.count(name) != 0; });
      exported.data = moveToDataFile(model, exported.dataFile);
    }
    if (int64_t(model.ByteSizeLong()) > maxBytes || !model.SerializeToString(&exported.bytes))
      fail(path, "is too large for an ONNX file, without its initializers", "a graph of protobuf ends at 2 GiB");
    return true;
  } catch (const ImportError &caught) {
    error = {caught.problem.node, caught.problem.why, caught.problem.hint};
  } catch (const std::exception &caught) { // out of memory, or protobuf's own errors
    error = {path, caught.what(), kSameModel};
  }
  return false;
}
