//===- Contraction.cpp - schedules of contractions as text and as an attribute -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/Contraction.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mpc::kernel;

namespace {
/// One of the numbers behind the tile. The table alone knows its name and when it is left out.
struct Field {
  llvm::StringLiteral name;
  int64_t Contraction::*member;
  int64_t standard; ///< this value is not printed
};
constexpr Field fields[] = {{"stages", &Contraction::stages, 0},
                            {"pingpong", &Contraction::pingPong, 0},
                            {"splits", &Contraction::splits, 1},
                            {"cluster_m", &Contraction::clusterM, 1},
                            {"cluster_n", &Contraction::clusterN, 1}};
constexpr int64_t Contraction::*tile[] = {&Contraction::m, &Contraction::n, &Contraction::k};

struct MainloopName {
  Mainloop mainloop;
  llvm::StringLiteral name;
};
constexpr MainloopName names[] = {{Mainloop::Simt, "simt"}, {Mainloop::Mma, "mma"}, {Mainloop::Wgmma, "wgmma"}};
static_assert(hasRowOfEachMainloop(names));
} // namespace

llvm::StringRef mpc::kernel::nameOf(Mainloop mainloop) { return names[size_t(mainloop)].name; }

llvm::hash_code mpc::kernel::hash_value(const Contraction &c) {
  return llvm::hash_combine(int(c.mainloop), c.m, c.n, c.k, c.stages, c.pingPong, c.splits, c.clusterM, c.clusterN);
}

std::string Contraction::text() const {
  std::string text = (nameOf(mainloop) + " " + Twine(m) + "x" + Twine(n) + "x" + Twine(k)).str();
  for (const Field &field : fields)
    if (this->*field.member != field.standard)
      text += (" " + field.name + "=" + Twine(this->*field.member)).str();
  return text;
}

/// Parses the mainloop and the tile; the words behind them go to `fields`.
static std::optional<Contraction> parseTile(StringRef text, SmallVectorImpl<StringRef> &fields) {
  SmallVector<StringRef> extents;
  text.split(fields, ' ');
  if (fields.size() < 2)
    return std::nullopt;
  const Mainloop *mainloop = llvm::find_if(allMainloops, [&](Mainloop m) { return nameOf(m) == fields[0]; });
  fields[1].split(extents, 'x');
  if (mainloop == std::end(allMainloops) || extents.size() != std::size(tile))
    return std::nullopt;
  Contraction c;
  c.mainloop = *mainloop;
  for (auto [member, extent] : llvm::zip_equal(tile, extents))
    if (extent.getAsInteger(10, c.*member) || c.*member < 1)
      return std::nullopt;
  fields.erase(fields.begin(), fields.begin() + 2);
  return c;
}

std::optional<Contraction> Contraction::parse(StringRef text) {
  SmallVector<StringRef> words;
  std::optional<Contraction> c = parseTile(text, words);
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    const Field *field = llvm::find_if(fields, [&](const Field &f) { return f.name == name; });
    if (!c || field == std::end(fields) || value.getAsInteger(10, (*c).*field->member) || (*c).*field->member < 1)
      return std::nullopt;
  }
  return c;
}

bool Contraction::hasForm(StringRef text) {
  SmallVector<StringRef> words;
  return parseTile(text, words) && llvm::all_of(words, [](StringRef word) {
           auto [name, value] = word.split('=');
           int64_t number = 0;
           return !name.empty() && !value.getAsInteger(10, number) && number >= 0;
         });
}

//===-- #kernel.contraction ------------------------------------------------------------===//

void ContractionAttr::print(AsmPrinter &printer) const { printer << '<' << getSchedule().text() << '>'; }

Attribute ContractionAttr::parse(AsmParser &parser, Type) {
  // The tokens are put together to the text, so that both forms have one parser.
  std::string text;
  llvm::raw_string_ostream stream(text);
  StringRef word;
  SmallVector<int64_t> extents;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word) ||
      parser.parseDimensionList(extents, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return {};
  stream << word << ' ' << llvm::interleaved(extents, "x");
  while (succeeded(parser.parseOptionalKeyword(&word))) {
    int64_t value = 0;
    if (parser.parseEqual() || parser.parseInteger(value))
      return {};
    stream << ' ' << word << '=' << value;
  }
  if (parser.parseGreater())
    return {};
  std::optional<Contraction> schedule = Contraction::parse(text);
  if (!schedule) {
    parser.emitError(start) << "'" << text << "' is no schedule of a contraction; write a mainloop ("
                            << llvm::interleaved(llvm::map_range(allMainloops, nameOf), ", ")
                            << "), its tile and fields, as in <wgmma 128x256x64 stages=4 splits=2>";
    return {};
  }
  return ContractionAttr::get(parser.getContext(), *schedule);
}
