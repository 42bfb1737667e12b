// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Array.h"

#include "runtime/core/data/Idx.h"
#include "runtime/core/data/Kinds.h"
#include "runtime/core/data/Npy.h"

namespace mpc::rt {

Array readArrayFile(const std::string &path, const ArrayCheck &check) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::string_view bytes = file->bytes();
  if (isNpy(bytes))
    return parseNpy(bytes, file, path, check);
  if (isIdx(bytes))
    return parseIdx(bytes, path, check);
  refuseData(path, bytes);
}

} // namespace mpc::rt
