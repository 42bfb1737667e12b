//===- Loops.cpp - #kernel.loops: its text and what it must be ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

//===-- Text -------------------------------------------------------------------------------===//

// An example is #kernel.loops<columns 32x3136x64 order = [0 to 1, 2] vector = 4 threads = 128x2>.

static void print(AsmPrinter &printer, const Loop &loop) {
  printer << loop.first;
  if (loop.count > 1)
    printer << " to " << loop.last();
  if (loop.tile)
    printer << " by " << loop.tile;
}

static ParseResult parse(AsmParser &parser, Loop &loop) {
  int64_t last = 0;
  if (parser.parseInteger(loop.first))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("to"))) {
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseInteger(last))
      return failure();
    if (last <= loop.first)
      return parser.emitError(place, "a loop walks dimensions in ascending order");
    loop.count = last - loop.first + 1;
  }
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseInteger(loop.tile))
    return failure();
  return loop.tile > 0 ? success() : parser.emitError(place, "a tile has at least one iteration");
}

void LoopsAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyWalk(getWalk()) << ' ';
  printer.printDimensionList(getExtents());
  printer << (getExtents().empty() ? "" : " ") << "order = [";
  llvm::interleaveComma(getOrder(), printer, [&](const Loop &loop) { ::print(printer, loop); });
  printer << ']';
  if (getParallel() > 0)
    printer << " parallel = " << getParallel();
  if (getVector() > 1)
    printer << " vector = " << getVector();
  if (!getThreads().empty()) {
    printer << " threads = ";
    printer.printDimensionList(getThreads());
  }
  if (getUnroll())
    printer << " unroll";
  if (!getCuts().empty())
    printer << " cuts = [" << getCuts() << ']';
  printer << '>';
}

Attribute LoopsAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation(), place;
  StringRef word;
  SmallVector<int64_t> extents, threads, cuts;
  SmallVector<Loop> order;
  int64_t parallel = 0, vector = 1;
  bool unroll = false;
  if (parser.parseLess() || parser.getCurrentLocation(&place) || parser.parseKeyword(&word))
    return {};
  std::optional<Walk> walk = symbolizeWalk(word);
  if (!walk) {
    parser.emitError(place, "'" + word + "' is no walk; write points, tiles, copies, rows or columns");
    return {};
  }
  auto list = [&](auto element) { return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element); };
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseKeyword("order") || parser.parseEqual() ||
      list([&] { return ::parse(parser, order.emplace_back()); }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("parallel")) && (parser.parseEqual() || parser.parseInteger(parallel)))
    return {};
  if (succeeded(parser.parseOptionalKeyword("vector")) && (parser.parseEqual() || parser.parseInteger(vector)))
    return {};
  if (succeeded(parser.parseOptionalKeyword("threads")) &&
      (parser.parseEqual() || parser.parseDimensionList(threads, /*allowDynamic=*/false, /*withTrailingX=*/false)))
    return {};
  unroll = succeeded(parser.parseOptionalKeyword("unroll"));
  if (succeeded(parser.parseOptionalKeyword("cuts")) &&
      (parser.parseEqual() || list([&] { return parser.parseInteger(cuts.emplace_back()); })))
    return {};
  if (parser.parseGreater())
    return {};
  return LoopsAttr::getChecked([&] { return parser.emitError(start); }, parser.getContext(), *walk, ArrayRef(extents),
                               ArrayRef(order), parallel, vector, ArrayRef(threads), unroll, ArrayRef(cuts));
}

//===-- What the attribute must be ---------------------------------------------------------===//

// Here is what the attribute alone can say. Analysis/LoopsFit.cpp holds it against the dispatch and the target.

LogicalResult LoopsAttr::verify(function_ref<InFlightDiagnostic()> emitError, Walk walk, ArrayRef<int64_t> extents,
                                ArrayRef<Loop> order, int64_t parallel, int64_t vector, ArrayRef<int64_t> threads,
                                bool unroll, ArrayRef<int64_t> cuts) {
  if (llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return emitError() << "the dimensions of a space have at least one index";
  SmallVector<int64_t> walked(extents.size(), 0);
  for (const Loop &loop : order)
    for (int64_t dim = loop.first; dim <= loop.last(); ++dim) {
      if (dim < 0 || dim >= int64_t(extents.size()))
        return emitError() << "a loop walks dimension " << dim << " of a space with " << extents.size();
      ++walked[dim];
    }
  for (auto [dim, times] : llvm::enumerate(walked))
    if (times != 1)
      return emitError() << "loops walk each dimension once, and dimension " << dim << ' ' << times << " times";
  if (parallel < 0 || parallel > int64_t(order.size()))
    return emitError() << parallel << " of " << order.size() << " loops are parallel";
  if (vector < 1)
    return emitError() << "an iteration computes at least one point, not " << vector;
  if (!threads.empty()) {
    bool areFew = llvm::all_of(threads, [](int64_t number) { return number >= 1 && number <= mostBlockThreads; });
    if (threads.size() != 2 || !areFew || !isBlockSize(threads[0] * threads[1]))
      return emitError() << "a block has rows of threads, in all " << blockSizes();
  }
  if (!cuts.empty() && (order.empty() || order.back().count != 1))
    return emitError() << "only an innermost loop over one dimension is cut";
  for (int64_t low = 0; int64_t cut : cuts) {
    if (cut <= low || cut >= extents[order.back().first])
      return emitError() << "the innermost loop is cut at ascending places inside of it, not at " << cut;
    low = cut;
  }
  return success();
}
