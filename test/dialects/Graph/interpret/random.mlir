// RUN: mpc-interpret %s | FileCheck %s
// The uniform numbers are words of Philox4x32-10 for a key of zeros (Random123's known answers are 6627e8d5 e169c58d bc57ac4c 9b00dbd8 at counter 0). The
// normal numbers are those that numpy makes of the words at counter (0, 3, 0, 0) by Box and Muller's formula.

func.func @main() -> (tensor<5xf64>, tensor<4xf32>, tensor<4xf16>, tensor<4xbf16>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = graph.constant dense<0> : tensor<i64>
  // The fifth number is the first of the next block, f8e4cca4.
  // CHECK: 0: tensor<5xf64> = [0.3990464{{[0-9]*}}, 0.8805201{{[0-9]*}}, 0.7357127{{[0-9]*}}, 0.6054818{{[0-9]*}}, 0.9722412{{[0-9]*}}]
  %0 = graph.random uniform %zero, %zero {salt = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: 1: tensor<4xf32> = [0.81704{{[0-9]*}}, 0.8311{{[56][0-9]*}}, 0.37284{{[0-9]*}}, 0.60191{{[0-9]*}}]
  %1 = graph.random uniform %zero, %zero {salt = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  // These are the same words, cut to 11 and 8 bits.
  // CHECK: 2: tensor<4xf16> = [0.81689{{[0-9]*}}, 0.83105{{[0-9]*}}, 0.37255{{[0-9]*}}, 0.6015{{[0-9]*}}]
  %2 = graph.random uniform %zero, %zero {salt = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xf16>
  // CHECK: 3: tensor<4xbf16> = [0.8164{{[0-9]*}}, 0.828125, 0.37109{{[0-9]*}}, 0.6015{{[0-9]*}}]
  %3 = graph.random uniform %zero, %zero {salt = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xbf16>
  // CHECK: 4: tensor<6xf32> = [0.3103{{[0-9]*}}, -0.5548{{[0-9]*}}, -1.1264{{[0-9]*}}, -0.8392{{[0-9]*}}, 0.67138{{[0-9]*}}, 0.96625{{[0-9]*}}]
  %4 = graph.random normal %zero, %zero {salt = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<6xf32>
  // The mask has one number for each row, of which the first is 0.399 and the second 0.88, or one for each column.
  %ones = graph.constant dense<1.0> : tensor<2x3xf32>
  // CHECK: 5: tensor<2x3xf32> = {{\[\[}}0, 0, 0], [2, 2, 2]]
  %5 = graph.dropout %ones, %zero, %zero {ratio = 0.5 : f64, salt = 0 : i64, shared = array<i64: 1>} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: 6: tensor<2x3xf32> = {{\[\[}}0, 2, 2], [0, 2, 2]]
  %6 = graph.dropout %ones, %zero, %zero {ratio = 0.5 : f64, salt = 0 : i64, shared = array<i64: 0>} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<5xf64>, tensor<4xf32>, tensor<4xf16>, tensor<4xbf16>, tensor<6xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
