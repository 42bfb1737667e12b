// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Model.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "compiler/Import/Onnx/Untie.h"
#include "dialects/Support/InputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_import;

void onnx_import::fail(std::string node, std::string why, std::string hint) {
  ImportError error;
  error.problem.node = std::move(node);
  error.problem.why = std::move(why);
  error.problem.hint = std::move(hint);
  throw error;
}

/// Returns whether a text begins as printable() writes a byte: "\\x0A".
static bool beginsEscaped(StringRef text) {
  return text.size() >= 4 && text.starts_with("\\x") &&
         text.substr(2, 2).find_first_not_of("0123456789ABCDEF") == StringRef::npos;
}

std::string onnx_import::printable(StringRef name) {
  std::string result;
  const auto *p = reinterpret_cast<const llvm::UTF8 *>(name.bytes_begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(name.bytes_end());
  while (p < end) {
    unsigned length = llvm::getNumBytesForUTF8(*p);
    bool shown = *p >= 0x20 && *p != 0x7f && p + length <= end && llvm::isLegalUTF8Sequence(p, p + length);
    if (shown && !beginsEscaped(name.drop_front(name.size() - size_t(end - p)))) {
      result.append(reinterpret_cast<const char *>(p), length);
      p += length;
    } else {
      result += "\\x" + llvm::toHex(llvm::ArrayRef<uint8_t>(p, 1));
      ++p;
    }
  }
  return result;
}

//===-- Parsing -----------------------------------------------------------------===//

Model::Model(StringRef bytes, StringRef name, StringRef folder) : name(printable(name)), folder(folder) {
  const std::string hint = "give an ONNX model, whole and uncompressed";
  if (bytes.empty())
    fail(this->name, "the file is empty", hint);
  if (bytes.size() > size_t(INT_MAX))
    fail(this->name, "the file has " + std::to_string(bytes.size()) + " bytes, protobuf ends at 2 GiB",
         "export the model with external data");
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(bytes.bytes_begin(), int(bytes.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail(this->name, "this is not an ONNX model, or the file is truncated", hint);
  if (!proto.has_graph())
    fail(this->name, "the model has no graph", hint);
  if (proto.opset_import_size() == 0)
    fail(this->name, "the model does not say which opset it uses", hint);
  for (const auto &import : proto.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx")
      opset = import.version();
  if (opset != 0 && (opset < kMinOpset || opset > kMaxOpset))
    fail(this->name, "opset " + std::to_string(opset) + " is not supported",
         "export the model with an opset from " + std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset) +
             ", best one from 9 on");
}

torch::Restored Model::restore(MLIRContext *context, onnx::ModelProto &of) {
  return torch::restore(of, [&](const onnx::TensorProto &tensor) {
    onnx::TensorProto copy = tensor; // its bytes are taken out
    return *this->tensor(context, copy, printable(tensor.name())).bytes;
  });
}

std::map<std::string, std::string> Model::writtenBuffers(MLIRContext *context) {
  if (restored.known || torch::Metadata(proto).mutations().empty())
    return restored.written;
  onnx::ModelProto copy = proto;
  return restore(context, copy).written;
}

bool Model::restore(MLIRContext *context, llvm::function_ref<bool(StringRef)> untie) {
  restored = restore(context, proto);
  if (size_t count = untieStatistics(*proto.mutable_graph()); count > 0)
    restored.notes.push_back(std::to_string(count) +
                             (count == 1
                                  ? " running statistic that was merged with another tensor has one of its own again"
                                  : " running statistics that were merged with other tensors have their own again"));
  return untieInitializers(*proto.mutable_graph(), untie);
}

//===-- Tensors -------------------------------------------------------------------===//

std::string onnx_import::locationOf(const onnx::TensorProto &tensor) {
  std::string location;
  for (const auto &entry : tensor.external_data())
    if (entry.key() == "location")
      location = entry.value();
  return location;
}

static std::string readExternal(const onnx::TensorProto &tensor, const std::string &where, const std::string &folder,
                                int64_t size) {
  const std::string location = locationOf(tensor);
  uint64_t offset = 0, length = uint64_t(size);
  for (const auto &entry : tensor.external_data()) {
    bool bad = false;
    if (entry.key() == "offset")
      bad = StringRef(entry.value()).getAsInteger(10, offset);
    else if (entry.key() == "length")
      bad = StringRef(entry.value()).getAsInteger(10, length);
    if (bad)
      fail(where, "external data has " + printable(entry.key()) + " '" + printable(entry.value()) + "', not a number");
  }
  const std::string shown = "external data file '" + printable(location) + "'";
  const std::string hint = "keep the data files beside the model, as it was exported";
  if (folder.empty())
    fail(where, shown + " cannot be read: the model is not in a folder", hint);
  if (location.empty() || StringRef(location).contains('\0') || llvm::sys::path::is_absolute(location))
    fail(where, shown + " is not a relative path", hint);
  for (auto it = llvm::sys::path::begin(location), end = llvm::sys::path::end(location); it != end; ++it)
    if (*it == "..")
      fail(where, shown + " lies outside the model's folder", hint);
  SmallString<256> path(folder), real, realFolder;
  llvm::sys::path::append(path, location);
  if (std::error_code error = llvm::sys::fs::real_path(path, real))
    fail(where, shown + ": " + error.message(), hint);
  if (llvm::sys::fs::real_path(folder, realFolder))
    fail(where, shown + ": the model's folder cannot be read", hint);
  // A symbolic link may lead out of the folder although the name does not.
  SmallString<256> inside(realFolder);
  if (!inside.ends_with("/"))
    inside += "/";
  if (!StringRef(real).starts_with(inside))
    fail(where, shown + " leads outside the model's folder", hint);
  std::string why;
  llvm::sys::fs::file_t handle = openRegularFile(real, why);
  if (handle < 0)
    fail(where, shown + ": " + why, hint);
  struct Closer {
    llvm::sys::fs::file_t &handle;
    ~Closer() { (void)llvm::sys::fs::closeFile(handle); }
  } closer{handle};
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(handle, status))
    fail(where, shown + ": " + error.message(), hint);
  if (length != uint64_t(size))
    fail(where,
         shown + ": the tensor needs " + std::to_string(size) + " bytes, its length is " + std::to_string(length));
  if (offset > status.getSize() || length > status.getSize() - offset)
    fail(where,
         shown + " has " + std::to_string(status.getSize()) + " bytes, the tensor stands at " + std::to_string(offset) +
             " to " + std::to_string(offset) + " + " + std::to_string(length),
         "the file is truncated or belongs to another model");
  std::string bytes(length, '\0');
  uint64_t done = 0;
  while (done < length) {
    auto got = llvm::sys::fs::readNativeFileSlice(handle, MutableArrayRef<char>(bytes.data() + done, length - done),
                                                  offset + done);
    if (!got)
      fail(where, shown + ": " + llvm::toString(got.takeError()));
    if (*got == 0)
      fail(where, shown + " ended while it was read");
    done += *got;
  }
  return bytes;
}

/// The elements of one of the typed lists, which hold narrow types in wider ones.
template <typename List, typename Element>
static std::string fromList(const List &list, int64_t count, const std::string &where) {
  if (list.size() != count)
    fail(where, "has " + std::to_string(list.size()) + " elements of data, its shape says " + std::to_string(count));
  std::string bytes(count * sizeof(Element), '\0');
  for (int64_t i = 0; i < count; ++i) {
    Element e = Element(list.Get(int(i)));
    std::memcpy(bytes.data() + i * sizeof(Element), &e, sizeof(Element));
  }
  return bytes;
}

HostTensor onnx_import::readTensor(MLIRContext *context, onnx::TensorProto &tensor, const std::string &where,
                                   const std::string &folder) {
  Type element = elementType(context, tensor.data_type());
  if (!element)
    fail(where, "element type " + onnxTypeName(tensor.data_type()) + " is not supported",
         "supported are FLOAT, FLOAT16, BFLOAT16, DOUBLE, BOOL and the integers of 8 to 64 bits");
  if (tensor.has_segment())
    fail(where, "is stored in segments, which is not supported");
  llvm::SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    fail(where, "has a negative dimension or more than 2^33 elements");
  int64_t size = *count * elementBytes(element);
  std::string bytes;
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    bytes = readExternal(tensor, where, folder, size);
  } else if (tensor.has_raw_data()) {
    bytes = std::move(*tensor.mutable_raw_data());
    if (int64_t(bytes.size()) != size)
      fail(where,
           "has " + std::to_string(bytes.size()) + " bytes of data, its shape and type need " + std::to_string(size));
  } else if (element.isF32()) {
    bytes = fromList<decltype(tensor.float_data()), float>(tensor.float_data(), *count, where);
  } else if (element.isF64()) {
    bytes = fromList<decltype(tensor.double_data()), double>(tensor.double_data(), *count, where);
  } else if (element.isUnsignedInteger(32)) {
    bytes = fromList<decltype(tensor.uint64_data()), uint32_t>(tensor.uint64_data(), *count, where);
  } else if (element.isUnsignedInteger(64)) {
    bytes = fromList<decltype(tensor.uint64_data()), uint64_t>(tensor.uint64_data(), *count, where);
  } else if (element.getIntOrFloatBitWidth() == 64) {
    bytes = fromList<decltype(tensor.int64_data()), int64_t>(tensor.int64_data(), *count, where);
  } else if (elementBytes(element) == 4) {
    bytes = fromList<decltype(tensor.int32_data()), int32_t>(tensor.int32_data(), *count, where);
  } else if (elementBytes(element) == 2) { // f16 and bf16 are stored as their bits
    bytes = fromList<decltype(tensor.int32_data()), uint16_t>(tensor.int32_data(), *count, where);
  } else {
    bytes = fromList<decltype(tensor.int32_data()), uint8_t>(tensor.int32_data(), *count, where);
  }
  if (element.isInteger(1))
    for (char &c : bytes)
      c = c != 0;
  return {RankedTensorType::get(shape, element), std::make_shared<const std::string>(std::move(bytes)), false};
}
