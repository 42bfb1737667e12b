// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/Names.h"

using namespace mlir;

llvm::StringRef mpc::train::userName(VariableOp variable) {
  auto name = variable->getAttrOfType<StringAttr>(kNameAttr);
  return name && !variable->hasAttr(kInputAttr) ? name.getValue() : variable.getSymName();
}
