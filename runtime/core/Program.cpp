// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Program.h"

#include "runtime/support/Checksum.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"
#include "runtime/support/OwnFile.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mpc::rt {

static constexpr char kMagic[] = "MPCPROG1";
struct Trailer {
  char magic[8];
  uint64_t tocOffset, tocBytes, tocCrc32;
};
static_assert(sizeof(Trailer) == 32);

static uint32_t checksum(std::string_view bytes) { return rt::checksum(0, bytes.data(), bytes.size()); }

static constexpr char kRebuild[] = "the file is truncated or damaged; copy it again or compile the model again";

std::shared_ptr<const Program> Program::openSelf() { return open(ownFile()); }

std::shared_ptr<const Program> Program::open(const std::string &path) {
  std::shared_ptr<Program> program(new Program);
  program->where_ = path;
  program->file_ = MappedFile::open(path);
  if (program->file_->bytes().size() < sizeof(Trailer))
    fail(path, "not a compiled program", "make one with 'mpc compile MODEL.onnx -o PROGRAM'");
  program->readSections();
  return program;
}

std::shared_ptr<const Program> Program::fromMemory(std::string_view manifestJson,
                                                   std::map<std::string, std::string> sections, KernelTable kernels) {
  std::shared_ptr<Program> program(new Program);
  program->owned_ = std::move(sections);
  for (const auto &[name, bytes] : program->owned_)
    program->sections_[name] = bytes;
  program->table_ = std::move(kernels);
  program->manifest_ = Manifest::parse(manifestJson, program->dataBytes(), program->where_);
  return program;
}

Program::~Program() { kernels_.reset(); }

void Program::readSections() {
  std::string_view file = file_->bytes();
  Trailer trailer;
  std::memcpy(&trailer, file.data() + file.size() - sizeof trailer, sizeof trailer);
  if (std::memcmp(trailer.magic, kMagic, 8) != 0)
    fail(where_, "carries no model", "make a program with 'mpc compile MODEL.onnx -o PROGRAM' and run that");
  size_t limit = file.size() - sizeof trailer;
  if (trailer.tocOffset > limit || trailer.tocBytes > limit - trailer.tocOffset)
    fail(where_, "its table of contents lies outside the file", kRebuild);
  std::string_view toc = file.substr(trailer.tocOffset, trailer.tocBytes);
  if (checksum(toc) != trailer.tocCrc32)
    fail(where_, "its table of contents has a wrong checksum", kRebuild);
  try {
    json table = json::parse(toc);
    for (const auto &item : table.at("sections")) {
      std::string name = item.at("name");
      uint64_t offset = item.at("offset"), bytes = item.at("bytes");
      if (offset > limit || bytes > limit - offset)
        fail(where_, concat("section '", name, "' lies outside the file"), kRebuild);
      sections_[name] = file.substr(offset, bytes);
      checksums_[name] = item.at("crc32");
    }
  } catch (const json::exception &error) {
    fail(where_, concat("broken table of contents: ", error.what()), kRebuild);
  }
  std::string_view manifest = section("manifest.json");
  if (manifest.empty())
    fail(where_, "has no manifest", kRebuild);
  manifest_ = Manifest::parse(manifest, dataBytes(), where_);
}

int64_t Program::dataBytes() const {
  auto it = sections_.find("data");
  return it == sections_.end() ? 0 : int64_t(it->second.size());
}

std::string_view Program::section(const std::string &name) const {
  auto it = sections_.find(name);
  if (it == sections_.end())
    return {};
  auto expected = checksums_.find(name);
  if (expected != checksums_.end() && verified_.insert(name).second && checksum(it->second) != expected->second)
    fail(where_, concat("section '", name, "' has a wrong checksum"), kRebuild);
  return it->second;
}

void Program::releaseData() const {
  if (!file_)
    return;
  auto found = sections_.find("data");
  std::string_view data = found == sections_.end() ? std::string_view() : found->second;
  uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), begin = reinterpret_cast<uintptr_t>(data.data());
  uintptr_t first = (begin + page - 1) / page * page, last = (begin + data.size()) / page * page;
  if (first < last) // these are clean pages of a file, which can always be read again
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

const Kernels &Program::kernels() const {
  if (kernels_)
    return *kernels_;
  auto kernels = std::make_unique<Kernels>(table_);
  std::string name = bestKernelObject(sections_, where_);
  if (!name.empty())
    kernels->load(section(name), concat(where_, ": ", name));
  kernels_ = std::move(kernels);
  return *kernels_;
}

} // namespace mpc::rt
