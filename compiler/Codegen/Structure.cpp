#include "compiler/Codegen/Structure.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;

std::string mpc::structureOf(kernel::DispatchOp dispatch) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (StringRef name : {"in_place", "schedule"})
    if (Attribute attribute = dispatch->getAttr(name))
      stream << attribute;
  OpPrintingFlags flags;
  flags.printGenericOpForm().useLocalScope();
  for (BlockArgument argument : dispatch.getBody().front().getArguments())
    stream << argument.getType();
  for (Operation &op : dispatch.getBody().front())
    op.print(stream, flags), stream << '\n';
  return text;
}
