#include "passes/Lowering/EmitKernels/Structure.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;

std::string mpc::structureOf(kernel::DispatchOp dispatch) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Any other attribute may change the dispatch's code; its name and the places of its memory do not.
  const StringAttr others[] = {dispatch.getNameAttrName(), dispatch.getArgsAttrName(), dispatch.getArgStepsAttrName(), dispatch.getScratchBytesAttrName(),
                               dispatch.getScratchOffsetAttrName(), dispatch.getMayReuseAttrName(), dispatch.getLaunchesAttrName()};
  for (NamedAttribute attribute : dispatch->getAttrDictionary())
    if (!llvm::is_contained(others, attribute.getName()))
      stream << attribute.getName() << '=' << attribute.getValue() << ' ';
  OpPrintingFlags flags;
  flags.printGenericOpForm().useLocalScope();
  for (BlockArgument argument : dispatch.getBody().front().getArguments())
    stream << argument.getType();
  for (Operation &op : dispatch.getBody().front())
    op.print(stream, flags), stream << '\n';
  return text;
}
