// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluable.h"

using namespace mlir;
#include "compiler/Evaluator/Evaluable.cpp.inc"
