// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule --mpc-emit-kernels | mpc-ptx - | FileCheck %s --check-prefix=SM80
// RUN: mpc-opt %s --mpc-set-target=name=sm_75 --mpc-schedule --mpc-emit-kernels | mpc-ptx - | FileCheck %s --check-prefix=SM75
// RUN: mpc-opt %s --mpc-set-target=name=sm_60 --mpc-schedule --mpc-emit-kernels | mpc-ptx - | FileCheck %s --check-prefix=SM60
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule --mpc-emit-kernels | FileCheck %s --check-prefix=ANNOTATED
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule --mpc-emit-kernels | mpc-ptx - | FileCheck %s --check-prefix=SM90

// The kernels use what the hardware has: 16-byte copies that bypass the registers, load_matrix (transposed where k is not contiguous), mma of the
// architecture's depth, and stores of 16 bytes. They do not divide.

// ANNOTATED: kernel.dispatch contraction "gemm"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 512, 1, 1 args = 0, 1>], schedule = #kernel.contraction<
// ANNOTATED: kernel.dispatch contraction "weight_grad"{{.*}}launches = [#kernel.launch<@kernels0::@k1 {{.*}}#kernel.launch<@kernels0::@k1_reduce {{.*}}schedule = #kernel.contraction<{{.*}} splits={{[0-9]+}}>, scratch_bytes = {{[0-9]+}} : i64

// SM80-LABEL: .entry k0(
// SM80: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16;
// SM80-NOT: div.
// SM80-NOT: rem.
// SM80: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// SM80: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// SM80: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// SM80: ld.shared.v4
// SM80: st.global.v4
// SM80-LABEL: .entry k1(
// SM80: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r
// SM80-NOT: div.
// SM80-NOT: rem.
// SM80: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// SM80: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// SM80: st.global.v4
// SM80-LABEL: .entry k1_reduce(
// SM80: ld.global.{{.*}}v4
// SM80-LABEL: .entry k2(
// SM80: ld.shared.v4
// SM80: fma.rn.f32
// SM80: st.global.v4.b32

// Warpgroups have different roles: one thread feeds the others through tensor maps, for a weight gradient in im2col mode, and the two blocks of a cluster load
// B's halves for each other. B, and for a weight gradient A too, are contiguous along rows and not along k. A block computes every grid-size-th piece. 16-bit
// results are stored through tensor maps too, and partial sums in 16 bytes.
// SM90-LABEL: .entry k0(
// SM90: .param .align 64 .b8 k0_param_2[128]
// SM90: .param .align 64 .b8 k0_param_3[128]
// SM90: .param .align 64 .b8 k0_param_4[128]
// SM90: .reqntid 384
// SM90: .reqnctapercluster 2, 1, 1
// SM90: mbarrier.init.shared::cta.b64
// SM90: fence.mbarrier_init.release.cluster;
// SM90: prefetch.tensormap
// SM90: barrier.cluster.wait.aligned;
// SM90: setmaxnreg.inc.sync.aligned.u32 232;
// SM90: %nctaid.x;
// SM90: mbarrier.try_wait.parity.shared::cta.b64
// SM90: wgmma.fence.sync.aligned;
// SM90: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{.*}}, add, 1, 1, 0, 1;
// SM90: wgmma.commit_group.sync.aligned;
// SM90: wgmma.wait_group.sync.aligned 1;
// SM90: mbarrier.arrive.release.cta.shared::cluster.b64 _, [remote];
// SM90: wgmma.wait_group.sync.aligned 0;
// SM90: cp.async.bulk.wait_group.read 1;
// SM90-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
// SM90: fence.proxy.async.shared::cta;
// SM90: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// SM90: cp.async.bulk.wait_group.read 0;
// SM90: setmaxnreg.dec.sync.aligned.u32 40;
// SM90-NOT: cp.async.cg
// SM90: mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [{{%r[0-9]+}}], 49152;
// SM90: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [
// SM90-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// SM90: barrier.cluster.wait.aligned;
// SM90-LABEL: .entry k1(
// SM90-NOT: mma.sync
// SM90: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.f16.f16 {{.*}}, add, 1, 1, 1, 1;
// SM90: st.global.v4
// SM90: cp.async.bulk.tensor.2d.shared::cluster.global.tile
// SM90: cp.async.bulk.tensor.4d.shared::cluster.global.im2col

// SM75-LABEL: .entry k0(
// SM75-NOT: cp.async
// SM75: ld.global.{{.*}}v4
// SM75: st.shared.v4
// SM75: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// SM75: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
// SM75: st.global.v4
// SM75-LABEL: .entry k1(

// SM60-LABEL: .entry k0(
// SM60-NOT: mma.sync
// SM60-NOT: ldmatrix
// SM60: ld.global.{{.*}}v4
// SM60: ld.shared.v4
// SM60: fma.rn.f32
func.func @f(%a: tensor<4096x4096xf16>, %x: tensor<32x28x28x128xf16>, %dy: tensor<32x28x28x64xf16>, %p: tensor<1024x512xf32>, %q: tensor<1024x512xf32>, %bias: tensor<1024xf32>) {
  %gemm = kernel.dispatch contraction "gemm" (%a) : (tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>):
    %h = graph.matmul %0, %0 : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    kernel.yield %h : tensor<4096x4096xf16>
  }
  %dw = kernel.dispatch contraction "weight_grad" (%x, %dy) : (tensor<32x28x28x128xf16>, tensor<32x28x28x64xf16>) -> tensor<64x128x3x3xf16> {
  ^bb0(%0: tensor<32x28x28x128xf16>, %1: tensor<32x28x28x64xf16>):
    %h = graph.conv_weight_grad %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>} : (tensor<32x28x28x128xf16>, tensor<32x28x28x64xf16>) -> tensor<64x128x3x3xf16>
    kernel.yield %h : tensor<64x128x3x3xf16>
  }
  %f32 = kernel.dispatch contraction "f32" (%p, %q, %bias) : (tensor<1024x512xf32>, tensor<1024x512xf32>, tensor<1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%0: tensor<1024x512xf32>, %1: tensor<1024x512xf32>, %2: tensor<1024xf32>):
    %h = graph.matmul %0, %1 {transpose_b} : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<1024x1024xf32>
    %s = graph.add %h, %2 : (tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024x1024xf32>
    %r = graph.relu %s : tensor<1024x1024xf32>
    kernel.yield %r : tensor<1024x1024xf32>
  }
  return
}
