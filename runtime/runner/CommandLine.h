// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CLI11 without the definitions of its configuration files and of its own help text, which programs do not use. The
// constructor of every CLI::App refers to both, so CommandLine.cpp defines these functions as empty ones, which makes a
// program 25 KB smaller. Code that includes <CLI/CLI.hpp> instead has CLI11's definitions and does not need that file.
#pragma once

#include <CLI/App.hpp>
