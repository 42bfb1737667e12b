#include "compiler/Export/Onnx/Exporter.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MemoryBuffer.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

using namespace mpc;

/// Row-major bytes of the values in an ONNX float type; false for any other type.
static bool encode(const std::vector<float> &values, int32_t type, std::string &raw) {
  raw.clear();
  auto append = [&](const auto &value) { raw.append(reinterpret_cast<const char *>(&value), sizeof value); };
  auto append16 = [&](float value, const llvm::fltSemantics &semantics) {
    llvm::APFloat number(value);
    bool losesInfo = false;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    append(uint16_t(number.bitcastToAPInt().getZExtValue()));
  };
  for (float value : values) {
    if (type == onnx::TensorProto::FLOAT)
      append(value);
    else if (type == onnx::TensorProto::DOUBLE)
      append(double(value));
    else if (type == onnx::TensorProto::FLOAT16)
      append16(value, llvm::APFloat::IEEEhalf());
    else if (type == onnx::TensorProto::BFLOAT16)
      append16(value, llvm::APFloat::BFloat());
    else
      return false;
  }
  return true;
}

static void setValues(onnx::TensorProto &tensor, const std::string &raw) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(raw);
}

int64_t mpc::exportOnnx(const std::string &path, const std::map<std::string, TrainedTensor> &tensors,
                        bool elsewhere, std::string &bytes, ExportError &error) {
  auto fail = [&](std::string what, std::string hint) {
    error = {path, std::move(what), std::move(hint)};
    return -1;
  };
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fail(file.getError().message(), "give the ONNX file that the program was compiled from");
  onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream((*file)->getBufferStart(), (*file)->getBufferSize());
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT32_MAX);
  if (!model.ParseFromCodedStream(&coded) || !model.has_graph())
    return fail("is not an ONNX model", "give the ONNX file that the program was compiled from");

  onnx::GraphProto &graph = *model.mutable_graph();
  std::map<std::string, onnx::TensorProto *> initializers;
  for (onnx::TensorProto &initializer : *graph.mutable_initializer())
    initializers[initializer.name()] = &initializer;
  std::map<std::string, const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    inputs[input.name()] = &input;

  int64_t replaced = 0;
  std::string raw;
  for (const auto &[name, trained] : tensors) {
    auto at = initializers.find(name);
    onnx::TensorProto *initializer = at == initializers.end() ? nullptr : at->second;
    if (!initializer) {
      if (!inputs.count(name)) {
        if (!trained.required)
          continue; // optimizer state, scaler
        return fail(
            "has no initializer or input '" + name + "', which the program trained",
            name.find('@') != std::string::npos
                ? "the model's normalisations share their statistics; export it with statistics for each, "
                  "and train again"
                : "give the model that the program was compiled from; its initializer must bear this name");
      }
      initializer = graph.add_initializer();
      initializer->set_name(name);
      initializer->set_data_type(inputs[name]->type().tensor_type().elem_type());
      for (int64_t extent : trained.shape)
        initializer->add_dims(extent);
    }
    if (!std::equal(initializer->dims().begin(), initializer->dims().end(), trained.shape.begin(), trained.shape.end()))
      return fail("initializer '" + name + "' has another shape in the checkpoint", "give the model and the checkpoint of one training");
    if (!encode(trained.values, initializer->data_type(), raw))
      return fail("initializer '" + name + "' is not of a float type", "give the model and the checkpoint of one training");
    setValues(*initializer, raw);
    ++replaced;
  }
  if (replaced == 0)
    return fail("has no initializer that the checkpoint names", "give the model and the checkpoint of one training");
  for (const onnx::TensorProto &initializer : graph.initializer())
    if (elsewhere && initializer.data_location() == onnx::TensorProto::EXTERNAL)
      return fail("initializer '" + initializer.name() +
                      "' was not trained, and lies in a data file beside the model",
                  "write the exported model into the same folder");
  if (!model.SerializeToString(&bytes))
    return fail("is too large to be written as one file", "models over 2 GiB are not supported");
  return replaced;
}
