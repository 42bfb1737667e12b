//===- TorchModel.h - small models as torch's exporter writes them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_IMPORT_TORCHMODEL_H
#define MPC_TEST_IMPORT_TORCHMODEL_H
#include "ModelBuilder.h"

namespace mpc::test {

/// Builds a model as torch's exporter writes it.
class TorchModel : public ModelBuilder {
public:
  explicit TorchModel(bool dynamo = true) : ModelBuilder(20) {
    model.set_producer_name("pytorch");
    if (!dynamo)
      return;
    input("x", {int64_t(2), int64_t(4)});
  }
  /// Adds a parameter or buffer of the module. It need not be in the file.
  TorchModel &module(const std::string &placeholder, const std::string &kind, const std::string &target) {
    signature += placeholder + ": " + kind + " target='" + target + "'\n";
    return *this;
  }
  /// Adds a node with the call that it comes from.
  onnx::NodeProto &call(const std::string &op, const std::vector<std::string> &inputs, const std::string &output,
                        const std::string &target, const std::string &args,
                        const std::vector<std::pair<std::string, Attribute>> &attributes = {}) {
    onnx::NodeProto &made = node(op, inputs, {output}, attributes);
    entry(made, 9, "pkg.torch.onnx.fx_node",
          "%" + output + " : [num_users=1] = call_function[target=torch.ops.aten." + target + ".default](args = (" +
              args + "), kwargs = {})");
    return made;
  }
  /// Sets the modules that a node is in.
  static void scopes(onnx::NodeProto &node, const std::string &names) {
    entry(node, 9, "pkg.torch.onnx.name_scopes", names);
  }
  TorchModel &folded(const std::string &value, const std::string &from) {
    info(value, "pkg.onnxscript.optimizer.folded_from", from);
    return *this;
  }
  void info(const std::string &value, const std::string &key, const std::string &text) {
    auto *described = model.mutable_graph()->add_value_info();
    described->set_name(value);
    entry(*described, 4, key, text);
  }
  /// Says that forward writes a value of the traced graph to a buffer.
  TorchModel &writes(const std::string &value, const std::string &buffer) {
    mutations += value + ": BUFFER_MUTATION target='" + buffer + "'\n";
    return *this;
  }
  /// Says that tools/torch/export.py has written the file.
  TorchModel &byTool() {
    auto *entry = model.add_metadata_props();
    entry->set_key("mpc.training_form");
    entry->set_value("True");
    return *this;
  }
  Imported run(const ImportOptions &options = {}) {
    TorchModel whole = *this;
    if (!signature.empty())
      entry(*whole.model.mutable_graph(), 16, "pkg.torch.export.ExportedProgram.graph_signature",
            "\n# inputs\n" + signature + "x: USER_INPUT\n\n# outputs\n" + mutations + "y: USER_OUTPUT\n");
    return import(whole, options);
  }

  /// Adds metadata to a message, whose field for them has this number.
  template <typename Message>
  static void entry(Message &message, int number, const std::string &key, const std::string &value) {
    onnx::StringStringEntryProto made;
    made.set_key(key);
    made.set_value(value);
    message.mutable_unknown_fields()->AddLengthDelimited(number, made.SerializeAsString());
  }

private:
  std::string signature, mutations;
};

/// Returns "name role" for each tensor that is no constant and no data, in the order of the file.
inline std::string variables(const Imported &r) {
  std::string text;
  for (const TensorVerdict &v : r.report.tensors)
    if (v.role == "parameter" || v.role == "buffer")
      text += v.name + (v.role == "buffer" ? "(buffer) " : " ");
  return text;
}
inline bool notes(const Imported &r, const std::string &text) {
  return llvm::any_of(r.report.notes, [&](const std::string &note) { return note.find(text) != note.npos; });
}

} // namespace mpc::test
#endif
