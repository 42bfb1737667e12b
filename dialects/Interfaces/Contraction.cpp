#include "dialects/Interfaces/Contraction.h"

using namespace mlir;
#include "dialects/Interfaces/Contraction.cpp.inc"
