//===- RecurrentCells.h - one time step of RNN, GRU and LSTM ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_RECURRENTCELLS_H
#define MPC_IMPORT_ONNX_OPS_RECURRENTCELLS_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// An activation as an RNN, GRU or LSTM names it.
struct RecurrentActivation {
  std::string name; // in lower case
  double alpha = 0, beta = 0;
};

/// The activations of all directions, from the attributes `activations`, `activation_alpha` and `activation_beta`;
/// `defaults` are those of one direction.
llvm::SmallVector<RecurrentActivation> recurrentActivations(Node &, llvm::ArrayRef<llvm::StringRef> defaults,
                                                            int64_t directions);

/// This is what a cell computes with in each time step. B is the batch, H the hidden size, G the number of gates.
struct RecurrentCell {
  llvm::StringRef op;                              // RNN, GRU or LSTM
  llvm::ArrayRef<RecurrentActivation> activations; // of one direction
  std::optional<double> clip;                      // bounds what enters the activations of gates
  bool coupled = false;                            // LSTM: the forget gate is 1 - input gate
  bool linearBeforeReset = false;                  // GRU: the reset gate scales the recurrent product
  mlir::Value recurrent;                           // [G*H, H]
  mlir::Value recurrentBias;                       // [G*H] of GRU with linearBeforeReset, or null
  mlir::Value inputPeep, outputPeep, forgetPeep;   // [H] each, or null: LSTM's peepholes

  struct State {
    mlir::Value h, c; // [B, H]; c, of LSTM alone, is fp32 where h is narrower
  };
  /// One time step: `input` [B, G*H] is x W' with all biases that are only added.
  State step(Node &, mlir::Value input, State before) const;

private:
  mlir::Value activate(Node &, size_t which, mlir::Value x) const;
  /// The same without the clip.
  mlir::Value curve(Node &, size_t which, mlir::Value x) const;
  State lstm(Node &, mlir::Value input, State before) const;
  State gru(Node &, mlir::Value input, State before) const;
};

/// Columns [from, from + size) of dimension `axis`.
mlir::Value part(Node &, mlir::Value x, int64_t axis, int64_t from, int64_t size);
/// a b' for matrices a and b.
mlir::Value timesTransposed(Node &, mlir::Value a, mlir::Value b);

} // namespace mpc::onnx_import
#endif
