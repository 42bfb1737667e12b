#include "compiler/Evaluator/Evaluable.h"

using namespace mlir;
#include "compiler/Evaluator/Evaluable.cpp.inc"
