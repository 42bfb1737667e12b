// RUN: mpc-opt %s --mpc-attach-loss=loss=mse:counted:t | FileCheck %s

// Importers write GatherND and GatherElements as one index into a row of all elements. Such an index stays within its sample if one of its terms is the
// sample's first element, and the others lead no further than its last.
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: tensor<2xf32> {train.batched, train.name = "counted"
// CHECK-SAME: tensor<2xf32> {train.batched, train.name = "constants"
// CHECK-SAME: tensor<2xf32> {train.batched, train.name = "from_pairs"
// CHECK-SAME: tensor<4x2xf32> {train.batched, train.name = "distributed"
// CHECK-SAME: tensor<2x3xf32> {train.batched, train.name = "known"
// CHECK-SAME: tensor<2x4xf32> {train.batched, train.name = "scattered"
// These take a step that is not a sample's size, count along another dimension, or lack the first element.
// CHECK-SAME: tensor<2xf32> {train.name = "other_step"
// CHECK-SAME: tensor<2x2xf32> {train.name = "other_dimension"
// CHECK-SAME: tensor<2xf32> {train.name = "no_offset"
// CHECK-SAME: tensor<2x3xf32> {train.name = "crossed"
// CHECK-SAME: tensor<2x4xf32> {train.name = "scattered_anywhere"
// These may lead beyond the sample: nothing bounds j, rows have one element each, and -1 is the last element of all.
// CHECK-SAME: tensor<2xf32> {train.name = "unbounded"
// CHECK-SAME: tensor<2x3xf32> {train.name = "next_row"
// CHECK-SAME: tensor<2xf32> {train.name = "from_end"
// CHECK-SAME: tensor<2xf32> {train.name = "doubled"
// CHECK-SAME: tensor<2xf32> {train.name = "one_number"
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<2x3xf32> {train.name = "x", train.batched}, %i: tensor<2xi64> {train.name = "i", train.batched, train.labels_below = 3 : i64}, %j: tensor<2xi64> {train.name = "j", train.batched})
    -> (tensor<2xf32> {train.name = "counted"}, tensor<2xf32> {train.name = "constants"}, tensor<2xf32> {train.name = "from_pairs"}, tensor<4x2xf32> {train.name = "distributed"},
        tensor<2x3xf32> {train.name = "known"}, tensor<2x4xf32> {train.name = "scattered"}, tensor<2xf32> {train.name = "other_step"}, tensor<2x2xf32> {train.name = "other_dimension"},
        tensor<2xf32> {train.name = "no_offset"}, tensor<2x3xf32> {train.name = "crossed"}, tensor<2x4xf32> {train.name = "scattered_anywhere"},
        tensor<2xf32> {train.name = "unbounded"}, tensor<2x3xf32> {train.name = "next_row"}, tensor<2xf32> {train.name = "from_end"}, tensor<2xf32> {train.name = "doubled"},
        tensor<2xf32> {train.name = "one_number"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %row = graph.reshape %z : tensor<2x3xf32> to tensor<6xf32>
  %three = graph.constant dense<3> : tensor<i64>
  %number = graph.iota {axis = 0 : i64} : tensor<2xi64>
  %first = graph.mul %number, %three : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %at = graph.add %first, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %counted = graph.gather %row, %at {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>

  %firsts = graph.constant dense<[0, 3]> : tensor<2xi64>
  %at1 = graph.add %i, %firsts : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %constants = graph.gather %row, %at1 {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>

  // x[arange(2), i], whose indices count from the end below zero.
  %counts = graph.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %column = graph.reshape %i : tensor<2xi64> to tensor<2x1xi64>
  %pairs = graph.concat %counts, %column {axis = 1 : i64} : (tensor<2x1xi64>, tensor<2x1xi64>) -> tensor<2x2xi64>
  %part = graph.slice %pairs {starts = array<i64: 0, 0>, sizes = array<i64: 2, 1>, strides = array<i64: 1, 1>} : (tensor<2x2xi64>) -> tensor<2x1xi64>
  %sample = graph.reshape %part : tensor<2x1xi64> to tensor<2xi64>
  %two = graph.constant dense<2> : tensor<i64>
  %zero = graph.constant dense<0> : tensor<i64>
  %from_end = graph.add %sample, %two : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %below = graph.compare lt %sample, %zero : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %resolved = graph.select %below, %from_end, %sample : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %first2 = graph.mul %resolved, %three : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %at2 = graph.add %first2, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %from_pairs = graph.gather %row, %at2 {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>

  // (2 * n + m) * 3 + i with two rows a sample: the factor belongs to both terms.
  %wide = graph.broadcast %x : tensor<2x3xf32> to tensor<2x2x3xf32>
  %tall = graph.transpose %wide {permutation = array<i64: 1, 0, 2>} : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  %long = graph.reshape %tall : tensor<2x2x3xf32> to tensor<12xf32>
  %i1 = graph.reshape %i : tensor<2xi64> to tensor<2x1xi64>
  %n1 = graph.iota {axis = 0 : i64} : tensor<2x1xi64>
  %twice = graph.mul %n1, %two : (tensor<2x1xi64>, tensor<i64>) -> tensor<2x1xi64>
  %pair = graph.iota {axis = 1 : i64} : tensor<1x2xi64>
  %inside = graph.add %twice, %pair : (tensor<2x1xi64>, tensor<1x2xi64>) -> tensor<2x2xi64>
  %at3 = graph.mul %inside, %three : (tensor<2x2xi64>, tensor<i64>) -> tensor<2x2xi64>
  %at4 = graph.add %at3, %i1 : (tensor<2x2xi64>, tensor<2x1xi64>) -> tensor<2x2xi64>
  %got = graph.gather %long, %at4 {axis = 0 : i64} : (tensor<12xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  %again = graph.concat %got, %got {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %distributed = graph.reshape %again : tensor<2x4xf32> to tensor<4x2xf32>

  %mirrored = graph.constant dense<[[2, 1, 0], [5, 4, 3]]> : tensor<2x3xi64>
  %known = graph.gather %row, %mirrored {axis = 0 : i64} : (tensor<6xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>

  %four = graph.constant dense<4> : tensor<i64>
  %first4 = graph.mul %number, %four : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %at5 = graph.add %first4, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %places = graph.scatter %counted, %at5 {axis = 0 : i64} : (tensor<2xf32>, tensor<2xi64>) -> tensor<8xf32>
  %scattered = graph.reshape %places : tensor<8xf32> to tensor<2x4xf32>

  %first6 = graph.mul %number, %two : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %at6 = graph.add %first6, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %other_step = graph.gather %row, %at6 {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>

  %n7 = graph.iota {axis = 1 : i64} : tensor<1x2xi64>
  %first7 = graph.mul %n7, %three : (tensor<1x2xi64>, tensor<i64>) -> tensor<1x2xi64>
  %at7 = graph.add %i1, %first7 : (tensor<2x1xi64>, tensor<1x2xi64>) -> tensor<2x2xi64>
  %other_dimension = graph.gather %row, %at7 {axis = 0 : i64} : (tensor<6xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>

  %no_offset = graph.gather %row, %i {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>

  %over = graph.constant dense<[[2, 1, 0], [5, 4, 2]]> : tensor<2x3xi64>
  %crossed = graph.gather %row, %over {axis = 0 : i64} : (tensor<6xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>

  %anywhere = graph.scatter %counted, %i {axis = 0 : i64} : (tensor<2xf32>, tensor<2xi64>) -> tensor<8xf32>
  %scattered_anywhere = graph.reshape %anywhere : tensor<8xf32> to tensor<2x4xf32>

  %at8 = graph.add %first, %j : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %unbounded = graph.gather %row, %at8 {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>
  %at9 = graph.add %number, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %next_row = graph.gather %z, %at9 {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %last = graph.constant dense<[-1, 3]> : tensor<2xi64>
  %from_the_end = graph.gather %row, %last {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>
  %far = graph.concat %row, %row {axis = 0 : i64} : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
  %at10 = graph.mul %firsts, %two : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %doubled = graph.gather %far, %at10 {axis = 0 : i64} : (tensor<12xf32>, tensor<2xi64>) -> tensor<2xf32>
  %single = graph.iota {axis = 0 : i64} : tensor<1xi64>
  %spread = graph.broadcast %single : tensor<1xi64> to tensor<2xi64>
  %at11 = graph.mul %spread, %three : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %one_number = graph.gather %row, %at11 {axis = 0 : i64} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %counted, %constants, %from_pairs, %distributed, %known, %scattered, %other_step, %other_dimension, %no_offset, %crossed, %scattered_anywhere,
         %unbounded, %next_row, %from_the_end, %doubled, %one_number
      : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2x4xf32>,
        tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
