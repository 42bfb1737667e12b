// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists folders.
#pragma once

#include "runtime/images/Source.h"

#include <string>
#include <vector>

namespace mpc::images {

bool isFolder(const std::string &path);

/// Returns the names of the files in a folder, whose path ends with '/', in the order of their bytes. Hidden ones and
/// archives are left out. Throws Error.
std::vector<std::string> filesIn(const std::string &folder);

/// Adds the pictures in and below a folder, whose path ends with '/', as samples without classes. Returns a sentence
/// about the files that are no pictures, or an empty string. Throws Error.
std::string addPicturesIn(const std::string &folder, Source &source);

} // namespace mpc::images
