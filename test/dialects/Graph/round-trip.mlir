// RUN: mpc-opt %s > %t.1 && mpc-opt %t.1 > %t.2 && diff %t.1 %t.2 && FileCheck %s < %t.1
// Every op of the dialect prints as it parses.

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4xf32>, %i: tensor<4xi64>, %b: tensor<4xi1>, %s: tensor<i64>) {
  // CHECK: graph.abs %{{.*}} : tensor<4xf32>
  %0 = graph.abs %x : tensor<4xf32>
  // CHECK: graph.neg %{{.*}} : tensor<4xf32>
  %1 = graph.neg %x : tensor<4xf32>
  // CHECK: graph.sign %{{.*}} : tensor<4xf32>
  %2 = graph.sign %x : tensor<4xf32>
  // CHECK: graph.floor %{{.*}} : tensor<4xf32>
  %3 = graph.floor %x : tensor<4xf32>
  // CHECK: graph.ceil %{{.*}} : tensor<4xf32>
  %4 = graph.ceil %x : tensor<4xf32>
  // CHECK: graph.round %{{.*}} : tensor<4xf32>
  %5 = graph.round %x : tensor<4xf32>
  // CHECK: graph.exp %{{.*}} : tensor<4xf32>
  %6 = graph.exp %x : tensor<4xf32>
  // CHECK: graph.log %{{.*}} : tensor<4xf32>
  %7 = graph.log %x : tensor<4xf32>
  // CHECK: graph.sqrt %{{.*}} : tensor<4xf32>
  %8 = graph.sqrt %x : tensor<4xf32>
  // CHECK: graph.rsqrt %{{.*}} : tensor<4xf32>
  %9 = graph.rsqrt %x : tensor<4xf32>
  // CHECK: graph.reciprocal %{{.*}} : tensor<4xf32>
  %10 = graph.reciprocal %x : tensor<4xf32>
  // CHECK: graph.sin %{{.*}} : tensor<4xf32>
  %11 = graph.sin %x : tensor<4xf32>
  // CHECK: graph.cos %{{.*}} : tensor<4xf32>
  %12 = graph.cos %x : tensor<4xf32>
  // CHECK: graph.tan %{{.*}} : tensor<4xf32>
  %13 = graph.tan %x : tensor<4xf32>
  // CHECK: graph.asin %{{.*}} : tensor<4xf32>
  %14 = graph.asin %x : tensor<4xf32>
  // CHECK: graph.acos %{{.*}} : tensor<4xf32>
  %15 = graph.acos %x : tensor<4xf32>
  // CHECK: graph.atan %{{.*}} : tensor<4xf32>
  %16 = graph.atan %x : tensor<4xf32>
  // CHECK: graph.sinh %{{.*}} : tensor<4xf32>
  %17 = graph.sinh %x : tensor<4xf32>
  // CHECK: graph.cosh %{{.*}} : tensor<4xf32>
  %18 = graph.cosh %x : tensor<4xf32>
  // CHECK: graph.asinh %{{.*}} : tensor<4xf32>
  %19 = graph.asinh %x : tensor<4xf32>
  // CHECK: graph.acosh %{{.*}} : tensor<4xf32>
  %20 = graph.acosh %x : tensor<4xf32>
  // CHECK: graph.atanh %{{.*}} : tensor<4xf32>
  %21 = graph.atanh %x : tensor<4xf32>
  // CHECK: graph.erf %{{.*}} : tensor<4xf32>
  %22 = graph.erf %x : tensor<4xf32>
  // CHECK: graph.tanh %{{.*}} : tensor<4xf32>
  %23 = graph.tanh %x : tensor<4xf32>
  // CHECK: graph.normal_cdf %{{.*}} : tensor<4xf32>
  %phi = graph.normal_cdf %x : tensor<4xf32>
  // CHECK: graph.sigmoid %{{.*}} : tensor<4xf32>
  %24 = graph.sigmoid %x : tensor<4xf32>
  // CHECK: graph.relu %{{.*}} : tensor<4xf32>
  %25 = graph.relu %x : tensor<4xf32>
  // CHECK: graph.softplus %{{.*}} : tensor<4xf32>
  %26 = graph.softplus %x : tensor<4xf32>
  // CHECK: graph.softsign %{{.*}} : tensor<4xf32>
  %softsign = graph.softsign %x : tensor<4xf32>
  // CHECK: graph.hard_swish %{{.*}} : tensor<4xf32>
  %27 = graph.hard_swish %x : tensor<4xf32>
  // CHECK: graph.gelu %{{.*}} : tensor<4xf32>
  %28 = graph.gelu %x : tensor<4xf32>
  // CHECK: graph.stop_gradient %{{.*}} : tensor<4xf32>
  %stopped = graph.stop_gradient %x : tensor<4xf32>
  // CHECK: graph.leaky_relu %{{.*}} {{{.*}}} : tensor<4xf32>
  %29 = graph.leaky_relu %x {alpha = 0.01 : f64} : tensor<4xf32>
  // CHECK: graph.elu %{{.*}} {{{.*}}} : tensor<4xf32>
  %30 = graph.elu %x {alpha = 1.0 : f64} : tensor<4xf32>
  // CHECK: graph.hard_sigmoid %{{.*}} {{{.*}}} : tensor<4xf32>
  %31 = graph.hard_sigmoid %x {alpha = 0.2 : f64, beta = 0.5 : f64} : tensor<4xf32>
  // CHECK: graph.gelu %{{.*}} {{{.*}}} : tensor<4xf32>
  %32 = graph.gelu %x {approximate} : tensor<4xf32>
  // CHECK: graph.swish %{{.*}} {{{.*}}} : tensor<4xf32>
  %swish = graph.swish %x {alpha = 1.0 : f64} : tensor<4xf32>
  // CHECK: graph.clip %{{.*}} {{{.*}}} : tensor<4xf32>
  %33 = graph.clip %x {min = -1.0 : f64, max = 0x7FF0000000000000 : f64} : tensor<4xf32>
  // CHECK: graph.not
  %34 = graph.not %b : tensor<4xi1>
  // CHECK: graph.abs
  %35 = graph.abs %i : tensor<4xi64>
  // CHECK: graph.cast %{{.*}} : tensor<4xf32> to tensor<4xbf16>
  %36 = graph.cast %x : tensor<4xf32> to tensor<4xbf16>
  // CHECK: graph.is_nonfinite
  %37 = graph.is_nonfinite %x : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: graph.is_nan
  %38 = graph.is_nan %x : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: graph.dropout
  %39 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  // CHECK: graph.dropout {{.*}} {ratio = 5.000000e-01 : f64, salt = 3 : i64, shared = array<i64: 0>}
  %40 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 3 : i64, shared = array<i64: 0>} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  // CHECK: graph.random uniform {{.*}} {salt = 1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf16>
  %41 = graph.random uniform %s, %s {salt = 1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf16>
  // CHECK: graph.random normal
  %42 = graph.random normal %s, %s {salt = 2 : i64} : (tensor<i64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: graph.bitcast %{{.*}} : tensor<4xf32> to tensor<4xui32>
  %43 = graph.bitcast %x : tensor<4xf32> to tensor<4xui32>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %b: tensor<3xi1>) {
  // CHECK: graph.add
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.sub
  %1 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mul
  %2 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.div
  %3 = graph.div %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mod
  %4 = graph.mod %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.pow
  %5 = graph.pow %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.min
  %6 = graph.min %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.max
  %7 = graph.max %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mod {{.*}} {fmod}
  %8 = graph.mod %x, %y {fmod} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.and
  %9 = graph.and %b, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  // CHECK: graph.or
  %10 = graph.or %b, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  // CHECK: graph.xor
  %11 = graph.xor %b, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  // CHECK: graph.compare eq
  %12 = graph.compare eq %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare ne
  %13 = graph.compare ne %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare lt
  %14 = graph.compare lt %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare le
  %15 = graph.compare le %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare gt
  %16 = graph.compare gt %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.compare ge
  %17 = graph.compare ge %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.select
  %18 = graph.select %b, %x, %y : (tensor<3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<2x3x4xf16>, %b: tensor<3xi1>) {
  // CHECK: graph.reduce_sum
  %0 = graph.reduce_sum %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf16>) -> tensor<1x3x1xf16>
  // CHECK: graph.reduce_mean
  %1 = graph.reduce_mean %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf16>) -> tensor<1x3x1xf16>
  // CHECK: graph.reduce_max
  %2 = graph.reduce_max %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf16>) -> tensor<1x3x1xf16>
  // CHECK: graph.reduce_min
  %3 = graph.reduce_min %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf16>) -> tensor<1x3x1xf16>
  // CHECK: graph.reduce_prod
  %4 = graph.reduce_prod %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf16>) -> tensor<1x3x1xf16>
  // CHECK: graph.reduce_any
  %5 = graph.reduce_any %b {axes = array<i64: 0>, keepdims = false} : (tensor<3xi1>) -> tensor<i1>
  // CHECK: graph.argmax {{.*}} last, min}
  %6 = graph.argmax %x {axis = 1 : i64, keepdims = false, last, min} : (tensor<2x3x4xf16>) -> tensor<2x4xi64>
  return
}

// CHECK-LABEL: func.func @tensor
func.func @tensor(%x: tensor<2x3xf32>, %i: tensor<5xi64>) {
  // CHECK: graph.constant dense<[1, 2]> : tensor<2xi64>
  %0 = graph.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: graph.iota
  %1 = graph.iota {axis = 0 : i64} : tensor<3x2xi64>
  // CHECK: graph.reshape %{{.*}} : tensor<2x3xf32> to tensor<6x1xf32>
  %2 = graph.reshape %x : tensor<2x3xf32> to tensor<6x1xf32>
  // CHECK: graph.transpose
  %3 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: graph.broadcast
  %4 = graph.broadcast %x : tensor<2x3xf32> to tensor<4x2x3xf32>
  // CHECK: graph.concat
  %5 = graph.concat %x, %x {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  // CHECK: graph.slice
  %6 = graph.slice %x {starts = array<i64: 0, 2>, sizes = array<i64: 1, 2>, strides = array<i64: 1, -2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
  // CHECK: graph.pad
  %7 = graph.pad %x {value = 0.0 : f64, low = array<i64: 1, -1>, high = array<i64: 0, 0>, interior = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  // CHECK: graph.gather
  %8 = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<5xi64>) -> tensor<2x5xf32>
  // CHECK: graph.scatter
  %9 = graph.scatter %8, %i {axis = 1 : i64} : (tensor<2x5xf32>, tensor<5xi64>) -> tensor<2x3xf32>
  // CHECK: graph.resize
  %10 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, -0.25>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: graph.resize_grad {{.*}}nearest_bias = 5.000000e-01 : f64, nearest_ceil
  %11 = graph.resize_grad %10 {mode = #graph<resize_mode nearest>, nearest_bias = 0.5 : f64, nearest_ceil, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, -0.25>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @nn
func.func @nn(%a: tensor<2x3xf16>, %x: tensor<1x4x5x6xf16>, %l: tensor<1x5x6x4xf16>, %w: tensor<6x2x3x3xf16>, %s: tensor<4xf32>, %t: tensor<2xi64>, %c: tensor<3xf16>) {
  // CHECK: graph.matmul {{.*}} {transpose_b}
  %0 = graph.matmul %a, %a {transpose_b} : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x2xf16>
  // CHECK: graph.conv
  %1 = graph.conv %x, %w {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, groups = 2 : i64} : (tensor<1x4x5x6xf16>, tensor<6x2x3x3xf16>) -> tensor<1x6x5x3xf16>
  // CHECK: graph.conv_input_grad
  %2 = graph.conv_input_grad %1, %w {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, groups = 2 : i64} : (tensor<1x6x5x3xf16>, tensor<6x2x3x3xf16>) -> tensor<1x4x5x6xf16>
  // CHECK: graph.conv_weight_grad
  %3 = graph.conv_weight_grad %x, %1 {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, groups = 2 : i64} : (tensor<1x4x5x6xf16>, tensor<1x6x5x3xf16>) -> tensor<6x2x3x3xf16>
  // CHECK: graph.conv {{.*}}layout = #graph<layout channels_last>
  %4 = graph.conv %l, %w {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, groups = 2 : i64, layout = #graph<layout channels_last>} : (tensor<1x5x6x4xf16>, tensor<6x2x3x3xf16>) -> tensor<1x5x3x6xf16>
  // CHECK: graph.max_pool {{.*}} {ceil_mode
  %5, %6 = graph.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, ceil_mode} : (tensor<1x4x5x6xf16>) -> (tensor<1x4x6x4xf16>, tensor<1x4x6x4xi16>)
  // CHECK: graph.max_pool_grad
  %7 = graph.max_pool_grad %5, %6 {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>} : (tensor<1x4x6x4xf16>, tensor<1x4x6x4xi16>) -> tensor<1x4x5x6xf16>
  // CHECK: graph.avg_pool
  %8 = graph.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, count_include_pad} : (tensor<1x4x5x6xf16>) -> tensor<1x4x6x3xf16>
  // CHECK: graph.avg_pool_grad
  %9 = graph.avg_pool_grad %8 {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>, count_include_pad} : (tensor<1x4x6x3xf16>) -> tensor<1x4x5x6xf16>
  %dw = graph.constant dense<1.0> : tensor<2x2x4xf16>
  // CHECK: graph.depthwise_conv %{{.*}}, %{{.*}} {{.*}}kernel = array<i64: 2, 2>
  %dc = graph.depthwise_conv %x, %dw {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>} : (tensor<1x4x5x6xf16>, tensor<2x2x4xf16>) -> tensor<1x4x6x3xf16>
  // CHECK: graph.depthwise_input_grad %{{.*}}, %{{.*}} {{.*}}kernel = array<i64: 2, 2>
  %di = graph.depthwise_input_grad %dc, %dw {kernel = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 0>} : (tensor<1x4x6x3xf16>, tensor<2x2x4xf16>) -> tensor<1x4x5x6xf16>
  // CHECK: graph.batch_norm
  %10, %11, %12 = graph.batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: graph.layer_norm {{.*}}kind = #graph<norm layer>
  %one = graph.constant dense<1.0> : tensor<f32>
  %ln:3 = graph.layer_norm %x, %one, %one {axes = array<i64: 3>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<1x4x5x6xf16>, tensor<f32>, tensor<f32>) -> (tensor<1x4x5x6xf16>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>)
  // CHECK: graph.layer_norm_grad {{.*}}kind = #graph<norm rms>
  %lg:3 = graph.layer_norm_grad %x, %one, %one, %ln#1, %ln#2, %x {axes = array<i64: 3>, epsilon = 1.0e-05 : f64, kind = #graph<norm rms>} : (tensor<1x4x5x6xf16>, tensor<f32>, tensor<f32>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>, tensor<1x4x5x6xf16>) -> (tensor<1x4x5x6xf16>, tensor<f32>, tensor<f32>)
  // CHECK: graph.group_norm
  %gn:3 = graph.group_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x5x6xf16>, tensor<1x2xf32>, tensor<1x2xf32>)
  // CHECK: graph.group_norm_grad
  %gg:3 = graph.group_norm_grad %x, %s, %gn#1, %gn#2, %x {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x4x5x6xf16>) -> (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 2.500000e-01 : f64} :
  %at:3 = graph.attention %x, %x, %x {scale = 0.25 : f64} : (tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>) -> (tensor<1x4x5x6xf16>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>)
  %sees = graph.constant dense<true> : tensor<1x1x5x5xi1>
  %nearer = graph.constant dense<1.0> : tensor<1x4x5x5xf32>
  %drawn = graph.constant dense<1> : tensor<i64>
  // CHECK: graph.attention %{{.*}} mask %{{.*}} bias %{{.*}} dropout %{{.*}}, %{{.*}} {fill = {{.*}}, ratio = {{.*}}, salt = 3 : i64, scale = {{.*}}, zero_rows}
  %am:3 = graph.attention %x, %x, %x mask %sees bias %nearer dropout %drawn, %drawn {scale = 0.25 : f64, fill = -1.0e4 : f64, zero_rows, ratio = 0.5 : f64, salt = 3 : i64} : (tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x1x5x5xi1>, tensor<1x4x5x5xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x4x5x6xf16>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>)
  // CHECK: graph.attention_grad %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} from %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale = 2.500000e-01 : f64} :
  %ag:3 = graph.attention_grad %x, %x, %x mask %sees from %at#1, %at#2, %at#2, %x {scale = 0.25 : f64} : (tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x1x5x5xi1>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>, tensor<1x4x5x6xf16>) -> (tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>)
  // CHECK: graph.reduce_l2
  %l2 = graph.reduce_l2 %x {axes = array<i64: 3>, keepdims = false} : (tensor<1x4x5x6xf16>) -> tensor<1x4x5xf16>
  // CHECK: graph.barrier %{{.*}} after(%{{.*}} : tensor<1x4x5xf16>) {number = 1 : i64} : tensor<1x4x5x6xf16>
  %barrier = graph.barrier %x after(%l2 : tensor<1x4x5xf16>) {number = 1 : i64} : tensor<1x4x5x6xf16>
  // CHECK: graph.prelu
  %pr = graph.prelu %x, %x : (tensor<1x4x5x6xf16>, tensor<1x4x5x6xf16>) -> tensor<1x4x5x6xf16>
  // CHECK: graph.batch_norm_grad
  %13, %14, %15 = graph.batch_norm_grad %x, %s, %11, %12, %x {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1x4x5x6xf16>) -> (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: graph.batch_norm_inference
  %16 = graph.batch_norm_inference %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<1x4x5x6xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x5x6xf16>
  // CHECK: graph.softmax
  %17 = graph.softmax %a {axis = 1 : i64} : tensor<2x3xf16>
  // CHECK: graph.log_softmax
  %18 = graph.log_softmax %a {axis = 1 : i64} : tensor<2x3xf16>
  // CHECK: graph.nll_loss
  %19 = graph.nll_loss %a, %t {reduction = #graph<reduction none>, ignore_index = -100 : i64} : (tensor<2x3xf16>, tensor<2xi64>) -> tensor<2xf16>
  // CHECK: graph.softmax_cross_entropy
  %20 = graph.softmax_cross_entropy %a, %t, %c {reduction = #graph<reduction mean>} : (tensor<2x3xf16>, tensor<2xi64>, tensor<3xf16>) -> tensor<f16>
  return
}
