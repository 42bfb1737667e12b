// RUN: mpc-opt %s --mpc-attach-loss="loss=output:loss metric=map" | FileCheck %s --check-prefix=INFERRED
// RUN: mpc-opt %s --mpc-attach-loss="loss=output:loss metric=map:each:scores:boxes:labels,iou=0.75,nms=0.3,max_detections=5,score_threshold=0.2,map" | FileCheck %s --check-prefix=NAMED
// RUN: not mpc-opt %s --mpc-attach-loss="loss=output:loss metric=map:detections:scores:boxes,map:detections:s:boxes:labels,map:detections:scores:b:labels,map:scores:scores:boxes:labels,map:detections:scores:boxes:wide,map:detections:detections:boxes:labels,map:detections:scores:labels:labels" 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not mpc-opt %s --mpc-attach-loss="loss=output:loss metric=map,nmz=0.3,map,iou=0,map,nms=2,map,max_detections=0,map,score_threshold=1,map,iou=x,map,iou=0.5,iou=0.6" 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not mpc-opt %s --mpc-attach-loss="loss=output:loss metric=map,map:detections:scores:boxes:labels" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/= "scores"/= "s"/' %s | mpc-opt --mpc-attach-loss="loss=output:loss metric=map" | FileCheck %s --check-prefix=SHAPES
// RUN: sed 's/= "each"/= "detections:0"/; s/= "detections"/= "d"/' %s | not mpc-opt --mpc-attach-loss="loss=output:loss metric=map" 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: sed 's/= "each"/= "detections:0"/; s/= "detections"/= "d"/' %s | mpc-opt --mpc-attach-loss="loss=output:loss metric=map:detections:0:scores:boxes:labels" | FileCheck %s --check-prefix=COLON
// RUN: sed 's/6xi64/6xf32/' %s | not mpc-opt --mpc-attach-loss="loss=output:loss metric=map" 2>&1 | FileCheck %s --check-prefix=NONE

// The names that are usual decide among outputs that fit. The mean and the average precision at one overlap are two metrics.
// INFERRED: train.metrics = [{axis = 2 : i64, boxes = "boxes", detections = "detections", kind = "map", labels = "labels", logits = "scores", max_detections = 100 : i64, name = "map", nms = 5.000000e-01 : f64, score_threshold = 5.000000e-02 : f64},
// INFERRED-SAME: {axis = 2 : i64, boxes = "boxes", detections = "detections", iou = 5.000000e-01 : f64, kind = "map", labels = "labels", logits = "scores", max_detections = 100 : i64, name = "map50", nms = 5.000000e-01 : f64, score_threshold = 5.000000e-02 : f64}]
// INFERRED: func.func @eval
// INFERRED-SAME: train.name = "boxes"
// INFERRED-SAME: train.name = "labels"
// INFERRED-SAME: train.name = "detections"
// INFERRED-SAME: train.name = "scores"

// NAMED: detections = "each", kind = "map", labels = "labels", logits = "scores", max_detections = 5 : i64, name = "map", nms = 3.000000e-01 : f64, score_threshold = 2.000000e-01 : f64}
// NAMED-SAME: iou = 7.500000e-01 : f64
// NAMED-SAME: name = "map75"
// NAMED-SAME: detections = "detections"
// NAMED-SAME: name = "map:detections:scores:boxes:labels"
// NAMED-SAME: name = "map50"

// NAMES: error: metric 'map:detections:scores:boxes': names no labels
// NAMES: note: hint: write map[:DETECTIONS:SCORES:BOXES:LABELS][,iou=0.5][,nms=0.5][,max_detections=100][,score_threshold=0.05]
// NAMES: error: metric 'map:detections:s:boxes:labels': no output 's'
// NAMES: error: metric 'map:detections:scores:b:labels': no input 'b'
// NAMES: error: metric 'map:scores:scores:boxes:labels': 'scores' is tensor<2x12x3xf32>, but detections are floats [2,12,4] or [2,12,3,4]
// NAMES: error: metric 'map:detections:scores:boxes:wide': 'wide' is tensor<2x7xi64>, but labels are integers [2,6]
// NAMES: error: metric 'map:detections:scores:labels:labels': 'labels' is tensor<2x6xi64>, but boxes are floats [2,boxes,4]

// OPTIONS: error: metric 'map,nmz=0.3': has no option 'nmz'
// OPTIONS: note: hint: did you mean 'nms'? write map[:DETECTIONS
// OPTIONS: error: metric 'map,iou=0': iou='0' is not a number above 0, and at most 1
// OPTIONS: error: metric 'map,nms=2': nms='2' is not a number from 0 to 1
// OPTIONS: error: metric 'map,max_detections=0': max_detections='0' is not a whole number of at least 1
// OPTIONS: error: metric 'map,score_threshold=1': score_threshold='1' is not a number of at least 0, and below 1
// OPTIONS: error: metric 'map,iou=x': iou='x' is not a number
// OPTIONS: error: 'iou' is given twice

// TWICE: error: metric 'map:detections:scores:boxes:labels' is given twice
// TWICE: note: hint: keep one of them

// SHAPES: detections = "detections", kind = "map", labels = "labels", logits = "s"
// SEVERAL: error: metric 'map': several outputs or inputs fit
// SEVERAL: note: hint: name them: map[:DETECTIONS
// COLON: detections = "detections:0"
// NONE: error: metric 'map': no outputs [batch,anchors,4] and [batch,anchors,classes] and inputs [batch,boxes,4] and [batch,boxes] of integers fit together
train.variable @w parameter : tensor<1xf32> = #train.fill<1.0>
func.func @forward(%d: tensor<2x12x4xf32> {train.name = "d0", train.batched}, %e: tensor<2x12x3x4xf32> {train.name = "e0", train.batched},
                   %s: tensor<2x12x3xf32> {train.name = "s0", train.batched}, %b: tensor<2x6x4xf32> {train.name = "boxes", train.batched},
                   %l: tensor<2x6xi64> {train.name = "labels", train.batched}, %m: tensor<2x7xi64> {train.name = "wide", train.batched})
    -> (tensor<2x12x4xf32> {train.name = "detections"}, tensor<2x12x3x4xf32> {train.name = "each"}, tensor<2x12x3xf32> {train.name = "scores"},
        tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<1xf32>
  %y = graph.mul %d, %w : (tensor<2x12x4xf32>, tensor<1xf32>) -> tensor<2x12x4xf32>
  %z = graph.mul %e, %w : (tensor<2x12x3x4xf32>, tensor<1xf32>) -> tensor<2x12x3x4xf32>
  %p = graph.mul %s, %w : (tensor<2x12x3xf32>, tensor<1xf32>) -> tensor<2x12x3xf32>
  %loss = graph.reduce_mean %p {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<2x12x3xf32>) -> tensor<f32>
  return %y, %z, %p, %loss : tensor<2x12x4xf32>, tensor<2x12x3x4xf32>, tensor<2x12x3xf32>, tensor<f32>
}
