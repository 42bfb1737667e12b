// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Precision/PrecisionPolicy.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Pattern.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::precision;

/// Parses auto, true or false.
static FailureOr<bool> parseChoice(Location loc, StringRef option, StringRef text, bool automatic) {
  if (text == "auto")
    return automatic;
  if (text == "true" || text == "false")
    return text == "true";
  return emitErrorWithHint(loc, "'" + text + "' is no value of " + option, "true, false or auto");
}

FailureOr<PrecisionPolicy> PrecisionPolicy::create(ModuleOp module, const PolicyOptions &options) {
  Location loc = module.getLoc();
  PrecisionPolicy policy;
  policy.level = options.optLevel.str();
  int level = -1;
  if (options.optLevel.size() == 2 && options.optLevel[0] == 'O')
    level = options.optLevel[1] - '0';
  if (level < 0 || level > 3)
    return emitErrorWithHint(loc, "'" + options.optLevel + "' is no opt level", "O0, O1, O2 or O3");
  if (options.type == "fp16")
    policy.low = Float16Type::get(module.getContext());
  else if (options.type == "bf16")
    policy.low = BFloat16Type::get(module.getContext());
  else if (options.type != "fp32")
    return emitErrorWithHint(loc, "'" + options.type + "' is no precision", "fp16, bf16 or fp32");
  if (level == 0)
    policy.low = {};

  policy.castsModel = level >= 2;
  FailureOr<bool> keeps = parseChoice(loc, "keep-batchnorm-fp32", options.keepBatchnormFp32, level < 3);
  FailureOr<bool> masters = parseChoice(loc, "master-weights", options.masterWeights, level < 3);
  if (failed(keeps) || failed(masters))
    return failure();
  if (level == 1 && (!*keeps || !*masters))
    return emitErrorWithHint(loc, "O1 keeps parameters in fp32",
                             "use O2 or O3 to round or store them in low precision");
  policy.keepsBatchNorm = *keeps;
  policy.storesLow = !*masters && policy.castsModel;

  auto addList = [&](StringRef option, ArrayRef<std::string> patterns, PrecisionClass precision) {
    for (const std::string &text : patterns) {
      FailureOr<llvm::Regex> regex = compilePattern(loc, text);
      if (failed(regex))
        return failure();
      policy.lists.push_back({std::move(*regex), precision, option, text});
    }
    return success();
  };
  // The safe list wins where two lists match.
  if (failed(addList("--deny", options.deny, PrecisionClass::Fp32)) ||
      failed(addList("--allow", options.allow, PrecisionClass::Low)) ||
      failed(addList("--infer", options.infer, PrecisionClass::Follow)))
    return failure();
  return policy;
}

/// Returns whether the pattern matches the whole mnemonic: `max` is neither softmax nor max_pool. The longest match
/// counts, as POSIX has it; anchors written around the pattern would need a group, which would shift the numbers of the
/// user's back-references.
static bool isMnemonic(const llvm::Regex &regex, StringRef mnemonic) {
  SmallVector<StringRef> groups;
  return regex.match(mnemonic, &groups) && groups.front().size() == mnemonic.size();
}

/// Returns whether the pattern matches the name of a node that the op was made of.
static bool matchesSomeNode(const llvm::Regex &regex, Location loc) {
  return loc
      ->walk([&](Location part) {
        auto named = dyn_cast<NameLoc>(part);
        return named && regex.match(named.getName()) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The network may have written an attention as products and a softmax, which lists name.
bool PrecisionPolicy::UserList::matches(Operation *op, StringRef nodeName) const {
  if (isMnemonic(regex, op->getName().stripDialect()) || regex.match(nodeName))
    return true;
  return isa<graph::AttentionOp, graph::AttentionGradOp>(op) &&
         (isMnemonic(regex, "matmul") || matchesSomeNode(regex, op->getLoc()));
}

void PrecisionPolicy::warnOfUnmatched(ModuleOp module) const {
  SmallVector<const UserList *> unmatched = llvm::to_vector(llvm::make_pointer_range(lists));
  for (auto entry : module.getOps<FunctionOpInterface>())
    entry.walk([&](Operation *op) {
      std::string name = locationName(op->getLoc());
      if (op != entry)
        llvm::erase_if(unmatched, [&](const UserList *list) { return list->matches(op, name); });
    });
  for (const UserList *list : unmatched) {
    InFlightDiagnostic warning = mlir::emitWarning(module.getLoc())
                                 << list->option << ": '" << list->text << "' matches no op and no node of the network";
    warning.attachNote() << "hint: give a whole op name or a part of a node's name; `mpc explain` lists both";
  }
}

Decision PrecisionPolicy::classify(Operation *op) {
  std::string name = locationName(op->getLoc());
  for (UserList &list : lists)
    if (list.matches(op, name))
      return {list.precision, /*listed=*/true, /*unknown=*/false};
  if (auto stated = dyn_cast<PrecisionOpInterface>(op))
    return {stated.getPrecisionClass()};
  return {PrecisionClass::Fp32, /*listed=*/false, /*unknown=*/true};
}
