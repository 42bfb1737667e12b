// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/ExplainReport.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Interfaces/Precision.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Train.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using nlohmann::json;

namespace mpc::tool {

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}
static std::string elementText(Value x) { return text(graph::elementOf(x)); }
static std::string shapeText(Value x) {
  std::string result;
  for (int64_t dim : graph::shapeOf(x))
    result += (result.empty() ? "" : "x") + std::to_string(dim);
  return result.empty() ? "scalar" : result;
}

/// Returns the user's name for a value: that of a variable, of an input, or of the ONNX node that made it.
static std::string nameOf(Value x, train::StepOp step) {
  if (Operation *op = x.getDefiningOp()) {
    if (auto read = dyn_cast<train::ReadOp>(op))
      return read.getVariable().str();
    return locationName(op->getLoc());
  }
  auto argument = cast<BlockArgument>(x);
  unsigned number = argument.getArgNumber();
  // What a scan carries has the name of the scan's node; what its body reads else is named outside.
  if (auto scan = dyn_cast<graph::ScanOp>(argument.getOwner()->getParentOp()))
    return scan.isCarried(number) ? locationName(scan.getLoc()) : nameOf(scan.getOperand(number), step);
  auto name = step.getArgAttrOfType<StringAttr>(number, train::kNameAttr);
  return name ? name.str() : "input";
}

static json castJson(graph::CastOp cast, train::StepOp step, StringRef phase, const std::string &value,
                     const std::string &reason) {
  json users = json::array();
  for (Operation *user : cast->getUsers()) {
    std::string name = locationName(user->getLoc());
    if (!llvm::is_contained(users, name))
      users.push_back(name);
  }
  return {{"step", step.getSymName().str()},         {"phase", phase.str()},    {"value", value},
          {"from", elementText(cast.getX())},        {"to", elementText(cast)}, {"shape", shapeText(cast)},
          {"bytes", graph::bytesOf(cast.getType())}, {"reason", reason},        {"users", users}};
}

json forwardCasts(ModuleOp module) {
  json casts = json::array();
  for (auto step : module.getOps<train::StepOp>())
    step.walk([&](graph::CastOp cast) {
      if (auto reason = cast->getAttrOfType<StringAttr>("mpc.reason"))
        casts.push_back(castJson(cast, step, "forward", nameOf(cast.getX(), step), reason.str()));
    });
  return casts;
}

/// Returns the low-precision copy that a cast is assigned to, if there is one; guards of skipped steps
/// may stand between.
static train::VariableOp copyOf(Value x, unsigned depth = 0) {
  for (Operation *user : x.getUsers()) {
    if (auto assign = dyn_cast<train::AssignOp>(user)) {
      train::VariableOp variable = train::lookupVariable(assign, assign.getVariableAttr());
      if (variable && variable.getRole() == train::Role::copy)
        return variable;
    } else if (isa<graph::SelectOp>(user) && depth < 2) {
      if (train::VariableOp variable = copyOf(user->getResult(0), depth + 1))
        return variable;
    }
  }
  return {};
}

/// Describes a cast after the forward pass by what it connects, because derivatives carry the location of the op that
/// they are derivatives of.
static json laterCast(graph::CastOp cast, train::StepOp step, const llvm::StringMap<train::VariableOp> &parameters) {
  Type from = graph::elementOf(cast.getX()), to = graph::elementOf(cast);
  std::string node = locationName(cast.getLoc());
  if (train::VariableOp copy = copyOf(cast)) {
    std::string master = train::userName(train::lookupVariable(copy, copy.getOfAttr())).str();
    std::string name = master + copy.getSymName().drop_front(copy.getOf()->size()).str();
    return castJson(cast, step, "update", master,
                    "the copy '" + name + "' that the next step reads, rounded from the new master");
  }
  if (from.isF64() || to.isF64())
    return castJson(cast, step, "update", "@" + step.getSymName().str(),
                    "scalars of the scaler and the optimizer are computed in f64");
  train::VariableOp parameter = parameters.lookup(node);
  if (parameter && to == parameter.getTensorType().getElementType())
    return castJson(cast, step, "backward", node, "its gradient, in the type of the master");
  if (graph::isLowPrecision(to))
    return castJson(cast, step, "backward", node, "a gradient has the type of its value, which is " + text(to));
  return castJson(cast, step, "backward", node,
                  "derivatives and their sums are computed in " + text(to) + " and rounded once");
}

json laterCasts(ModuleOp module) {
  llvm::StringMap<train::VariableOp> parameters;
  for (auto variable : module.getOps<train::VariableOp>())
    if (variable.getRole() == train::Role::parameter)
      parameters[locationName(variable.getLoc())] = variable;
  json casts = json::array();
  for (auto step : module.getOps<train::StepOp>()) {
    if (step.getTrace())
      continue;
    step.walk([&](graph::CastOp cast) {
      if (!cast->hasAttr("mpc.reason") && graph::isFloat(cast.getX()) && graph::isFloat(cast))
        casts.push_back(laterCast(cast, step, parameters));
    });
  }
  return casts;
}

json forwardOps(ModuleOp module) {
  json ops = json::array();
  for (auto step : module.getOps<train::StepOp>())
    step.walk([&](PrecisionOpInterface op) {
      if (isa<graph::CastOp>(op.getOperation()) || op->getNumResults() == 0 || !graph::isFloat(op->getResult(0)) ||
          op.getPrecisionClass() == PrecisionClass::Neutral || op.getPrecisionClass() == PrecisionClass::Body)
        return;
      json row = {{"step", step.getSymName().str()},          {"node", locationName(op->getLoc())},
                  {"op", op->getName().stripDialect().str()}, {"class", stringify(op.getPrecisionClass()).str()},
                  {"type", elementText(op->getResult(0))},    {"shape", shapeText(op->getResult(0))}};
      // The statistics of a batch norm are four products and two sums, which repeat.
      for (auto it = ops.rbegin(); it != ops.rend() && (*it)["node"] == row["node"]; ++it) {
        row["count"] = (*it)["count"];
        if (*it == row) {
          (*it)["count"] = row["count"].get<int64_t>() + 1;
          return;
        }
      }
      row["count"] = 1;
      ops.push_back(row);
    });
  return ops;
}

//===-- Text ---------------------------------------------------------------------------------------===//

/// Prints rows of cells, each column as wide as its widest cell (the last is not padded).
static void printTable(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i)
      line += " " + row[i] + (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 1, ' ') : "");
    llvm::outs() << StringRef(line).rtrim() << '\n';
  }
}

static std::string joined(const json &names) {
  std::string result;
  for (const json &name : names)
    result += (result.empty() ? "" : ", ") + name.get<std::string>();
  return result;
}

static void printCasts(const json &casts, StringRef phase, StringRef title, bool several) {
  std::vector<std::vector<std::string>> rows;
  int64_t bytes = 0, count = 0;
  for (const json &cast : casts) {
    if (cast["phase"] != phase.str())
      continue;
    ++count;
    bytes += cast["bytes"].get<int64_t>();
    std::string name = cast["value"];
    rows.push_back({several ? cast["step"].get<std::string>() + ": " + name : name,
                    cast["from"].get<std::string>() + " -> " + cast["to"].get<std::string>(), cast["shape"],
                    cast["reason"]});
    if (phase == "forward")
      rows.back().back() += "; read by " + joined(cast["users"]);
  }
  llvm::outs() << llvm::formatv("\n{0}: {1} casts, {2} bytes\n", title, count, bytes);
  printTable(rows);
}

void printReport(const json &report) {
  auto &out = llvm::outs();
  std::string precision = report["precision"], level = report["opt_level"];
  out << report["model"].get<std::string>() << ": " << (precision == "fp32" ? "fp32" : precision + " " + level)
      << ", loss scale " << report["loss_scale"].get<std::string>() << '\n';
  for (auto [key, title] : {std::pair("assumed", "assumed: "), std::pair("data", "data: ")})
    for (const json &line : report[key])
      out << title << line.get<std::string>() << '\n';
  bool several = report["steps"].get<int64_t>() > 1;
  if (precision == "fp32" || level == "O0") {
    out << "\nno casts of the network: everything is computed and stored in f32\n";
  } else {
    printCasts(report["casts"], "forward",
               "forward pass (one cast a value; a parameter's is made once a step, where it is updated)", several);
    printCasts(report["casts"], "backward", "backward pass", several);
    printCasts(report["casts"], "update", "scaler and update", several);
  }
  std::vector<std::vector<std::string>> rows = {{"node", "op", "class", "type", "shape"}};
  for (const json &op : report["ops"]) {
    int64_t count = op["count"];
    rows.push_back({(several ? op["step"].get<std::string>() + ": " : "") + op["node"].get<std::string>(),
                    op["op"].get<std::string>() + (count > 1 ? " (" + std::to_string(count) + ")" : ""), op["class"],
                    op["type"], op["shape"]});
  }
  out << "\nops of the forward pass; class: low computes in the low type, fp32 in f32, promote in the widest type of "
         "its operands, follow in the type "
         "it is given\n";
  printTable(rows);
  auto printBytes = [&](StringRef title, const json &table) {
    out << '\n' << title << '\n';
    std::vector<std::vector<std::string>> lines;
    for (const auto &[name, bytes] : table.items())
      lines.push_back({name, std::to_string(bytes.get<int64_t>())});
    printTable(lines);
  };
  printBytes("state by role, bytes:", report["state_bytes"]);
  printBytes("memory plan, bytes:", report["memory"]);
  out << "\nlaunches of all entries: " << report["launches"].get<int64_t>() << '\n';
}

} // namespace mpc::tool
