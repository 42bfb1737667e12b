// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/state/Safetensors.h"

#include "runtime/support/AtomicFile.h"
#include "runtime/support/Checksum.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace mpc::rt {

namespace {
// Indexed by mpc_dtype.
constexpr const char *kNames[] = {"",    "F16", "BF16", "F32", "F64", "I8",  "I16",
                                  "I32", "I64", "U8",   "U16", "U32", "U64", "BOOL"};
constexpr char kMetadata[] = "__metadata__"; // the header's key that is no tensor
constexpr char kAgain[] = "copy the file again or use another checkpoint";

std::string crcText(uint32_t crc) {
  char hex[16];
  std::snprintf(hex, sizeof hex, "%08x", unsigned(crc));
  return hex;
}

/// Computes "header_crc32" from the header's content instead of its text, because other programs may write
/// the header anew.
std::string headerChecksum(const json &header, const std::map<std::string, std::string> &metadata) {
  uint32_t crc = 0;
  auto add = [&](const std::string &text) { crc = checksum(crc, text.c_str(), text.size() + 1); };
  for (const auto &[key, value] : metadata)
    if (key != "header_crc32") {
      add(key);
      add(value);
    }
  std::map<std::string, std::string> tensors;
  for (const auto &[name, entry] : header.items())
    if (name != kMetadata)
      tensors[name] = entry.dump();
  for (const auto &[name, entry] : tensors) {
    add(name);
    add(entry);
  }
  return crcText(crc);
}
} // namespace

SafetensorsReader::SafetensorsReader(const std::string &path) : path_(path) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::string_view bytes = file->bytes();
  uint64_t headerBytes = 0;
  if (bytes.size() < 8)
    fail(path, bytes.empty() ? "the file is empty" : "is no safetensors file", kAgain);
  std::memcpy(&headerBytes, bytes.data(), 8);
  if (headerBytes > bytes.size() - 8 || headerBytes < 2 || bytes[8] != '{')
    fail(path,
         headerBytes < (uint64_t(1) << 30) && bytes.size() > 8 && bytes[8] == '{'
             ? "the safetensors header is truncated"
             : "is no safetensors file",
         kAgain);
  data_ = bytes.substr(8 + headerBytes);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  try {
    json header = json::parse(bytes.substr(8, headerBytes));
    for (const auto &[name, entry] : header.items()) {
      if (name == kMetadata) {
        metadata_ = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      Array array;
      std::string type = entry.at("dtype");
      auto known = std::find(std::begin(kNames) + 1, std::end(kNames), type);
      if (known == std::end(kNames))
        fail(concat(path, ": ", name), concat("unknown element type '", type, "'"), kAgain);
      array.dtype = mpc_dtype(known - std::begin(kNames));
      array.shape = entry.at("shape").get<Shape>();
      auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
      std::optional<int64_t> size = bytesOf(array.dtype, array.shape);
      if (!size)
        fail(concat(path, ": ", name), concat("impossible shape ", toString(array.shape)), kAgain);
      if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != uint64_t(*size))
        fail(concat(path, ": ", name), concat("its data does not fit the shape ", toString(array.shape)), kAgain);
      if (offsets[1] > data_.size())
        fail(concat(path, ": ", name), "its data lies behind the end of the file; the file is truncated", kAgain);
      array.data = reinterpret_cast<const std::byte *>(data_.data() + offsets[0]);
      array.owner = file;
      tensors_[name] = array;
      ranges.push_back({offsets[0], offsets[1]});
    }
    headerChecksum_ = headerChecksum(header, metadata_);
  } catch (const json::exception &error) {
    fail(path, concat("broken safetensors header: ", error.what()), kAgain);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (auto [first, last] : ranges) {
    if (first != end)
      fail(path, "its tensors overlap or leave gaps", kAgain);
    end = last;
  }
  if (end != data_.size())
    fail(path, concat("has ", data_.size(), " bytes of data, its header names ", end), kAgain);
}

std::string SafetensorsReader::metadata(const std::string &key) const {
  auto it = metadata_.find(key);
  return it == metadata_.end() ? "" : it->second;
}

void SafetensorsReader::verify(bool required) const {
  std::string header = metadata("header_crc32"), data = metadata("data_crc32");
  if (header.empty() ? required : header != headerChecksum_)
    fail(path_, "its header has a wrong checksum", "use another checkpoint");
  if (data.empty() ? required : data != crcText(checksum(0, data_.data(), data_.size())))
    fail(path_, "its data has a wrong checksum", "use another checkpoint");
}

void writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors,
                      std::map<std::string, std::string> metadata) {
  uint32_t crc = 0;
  uint64_t offset = 0;
  json header = {{kMetadata, nullptr}}; // reserves the first place
  for (const TensorToWrite &tensor : tensors) {
    if (tensor.name == kMetadata)
      fail(path, "a safetensors file cannot hold a tensor called '__metadata__'",
           "compile the model again, which gives the variable another name");
    Tensor value = tensor.read();
    crc = checksum(crc, value.bytes.data(), value.bytes.size());
    header[tensor.name] = {{"dtype", kNames[tensor.dtype]},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + value.bytes.size()}}};
    offset += value.bytes.size();
  }
  metadata["data_crc32"] = crcText(crc);
  metadata["header_crc32"] = headerChecksum(header, metadata);
  header[kMetadata] = metadata;
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  AtomicFile file(path);
  uint64_t length = text.size();
  file.write(&length, 8);
  file.write(text);
  for (const TensorToWrite &tensor : tensors) {
    Tensor value = tensor.read();
    file.write(value.bytes.data(), value.bytes.size());
  }
  file.commit();
}

} // namespace mpc::rt
