// RUN: mpc-opt %s --mpc-attach-loss="loss=softmax_cross_entropy:y:labels metric=top2,f1:micro,confusion,f1:micro:y:other,auc:y:bits" | FileCheck %s --check-prefix=CLASSES
// RUN: mpc-opt %s --mpc-attach-loss="loss=bce_with_logits:p:t metric=multilabel,f1,mae,auc:y:bits" | FileCheck %s --check-prefix=LABELS
// RUN: mpc-opt %s --mpc-attach-loss="loss=softmax_cross_entropy:y:labels metric=perplexity,accuracy:q:labels,perplexity:q:labels" | FileCheck %s --check-prefix=SOFTMAX
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t metric=f1:binary,top4:y:other,mae:y:other,top0,f1:other:,accuracy" 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not mpc-opt %s --mpc-attach-loss="loss=bce_with_logits:y:t,pos_weight=1/2" 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: mpc-opt %s --mpc-attach-loss="loss=bce_with_logits:y:t,pos_weight=3" | FileCheck %s --check-prefix=ONE
// RUN: mpc-opt %s --mpc-attach-loss="loss=bce_with_logits:y:t,pos_weight=1/2/3" | FileCheck %s --check-prefix=EACH

// A kind without names takes what the loss compares. The names of a second one say what it compares.
// CLASSES: train.metrics = [{axis = 1 : i64, kind = "top2", labels = "labels", logits = "y", name = "top2"}, {axis = 1 : i64, kind = "f1:micro", labels = "labels", logits = "y", name = "f1:micro"},
// CLASSES-SAME: {axis = 1 : i64, kind = "confusion", labels = "labels", logits = "y", name = "confusion"}, {axis = 1 : i64, kind = "f1:micro", labels = "other", logits = "y", name = "f1:micro:y:other"},
// Integers like the scores are a yes or no for each.
// CLASSES-SAME: {axis = 1 : i64, kind = "auc", labels = "bits", logits = "y", name = "auc"}]
// CLASSES: func.func @eval
// CLASSES-SAME: train.name = "other"
// CLASSES-SAME: train.name = "bits"

// Decisions take the scores before the network's own sigmoid, and errors what comes behind it.
// LABELS: train.metrics = [{axis = 1 : i64, kind = "multilabel", labels = "t", logits = "p.scores", name = "multilabel"}, {axis = 1 : i64, kind = "f1", labels = "t", logits = "p.scores", name = "f1"},
// LABELS-SAME: {axis = 1 : i64, kind = "mae", labels = "t", logits = "p", name = "mae"}, {axis = 1 : i64, kind = "auc", labels = "bits", logits = "y", name = "auc"}]

// SOFTMAX: {axis = 1 : i64, kind = "perplexity", labels = "labels", logits = "y", name = "perplexity"}, {axis = 1 : i64, kind = "accuracy", labels = "labels", logits = "q", name = "accuracy"},
// SOFTMAX-SAME: {axis = 1 : i64, kind = "perplexity", labels = "labels", logits = "q.scores", name = "perplexity:q:labels"}]

// WRONG: error: metric 'f1:binary': binary is for one label, and there are 3
// WRONG: note: hint: write :macro or :micro
// WRONG: error: metric 'top4:y:other': there are only 3 classes
// WRONG: error: metric 'mae:y:other': the target tensor<4xi64> does not have the shape of the output, tensor<4x3xf32>
// WRONG: error: 'top0' is not a metric
// WRONG: error: 'f1:other:' is not a metric
// WRONG: error: metric 'accuracy': the loss does not say what it compares; it is no classification whose labels are an input
// WRONG: note: hint: write accuracy:OUTPUT:TARGET, an output of the network and an input

// WEIGHT: error: pos_weight has 2 numbers, but 'y' [4,3] has another last dimension
// WEIGHT: note: hint: give one number, or one for each element of the last dimension
// ONE: graph.constant dense<2.000000e+00>
// EACH: graph.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %o: tensor<4xi64> {train.name = "other", train.batched},
                   %b: tensor<4x3xi64> {train.name = "bits", train.batched})
    -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "p"}, tensor<4x3xf32> {train.name = "q"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %p = graph.sigmoid %y : tensor<4x3xf32>
  %q = graph.softmax %y {axis = 1 : i64} : tensor<4x3xf32>
  return %y, %p, %q : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}
