// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Network.h"
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Import/Onnx/Importer.h"
#include "dialects/Train/IR/Train.h"
#include "runtime/core/data/Npz.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include <random>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// This network has what the reference networks lack: sums of other shapes, sigmoids, dropout, average pooling,
/// padding, and a batch of odd size.
static const char *const ownNetwork = R"(
train.variable @"conv.weight" parameter : tensor<10x3x3x3xf32> = #train.normal<0.0, 0.3>
train.variable @"conv.bias" parameter : tensor<10xf32> = #train.normal<0.0, 0.1>
train.variable @"bn.scale" parameter : tensor<10xf32> = #train.uniform<0.5, 1.5>
train.variable @"bn.bias" parameter : tensor<10xf32> = #train.normal<0.0, 0.2>
train.variable @"fc.weight" parameter : tensor<90x7xf32> = #train.normal<0.0, 0.2>
train.variable @"fc.bias" parameter : tensor<7xf32> = #train.normal<0.0, 0.1>
train.variable @"rng" rng : tensor<2xi64> = dense<[7, 0]> : tensor<2xi64>
func.func @forward(%x: tensor<5x3x11x11xf32> {train.name = "x", train.batched}) -> (tensor<5x7xf32> {train.name = "logits", train.role = "output"}) {
  %w = train.read @"conv.weight" : tensor<10x3x3x3xf32>
  %b = train.read @"conv.bias" : tensor<10xf32>
  %s = train.read @"bn.scale" : tensor<10xf32>
  %t = train.read @"bn.bias" : tensor<10xf32>
  %fw = train.read @"fc.weight" : tensor<90x7xf32>
  %fb = train.read @"fc.bias" : tensor<7xf32>
  %c = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<5x3x11x11xf32>, tensor<10x3x3x3xf32>) -> tensor<5x10x6x6xf32>
  %br = graph.reshape %b : tensor<10xf32> to tensor<10x1x1xf32>
  %cb = graph.add %c, %br : (tensor<5x10x6x6xf32>, tensor<10x1x1xf32>) -> tensor<5x10x6x6xf32>
  %n, %mean, %variance = graph.batch_norm %cb, %s, %t {epsilon = 1.0e-5 : f64, axis = 1 : i64}
    : (tensor<5x10x6x6xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<5x10x6x6xf32>, tensor<10xf32>, tensor<10xf32>)
  %sg = graph.sigmoid %n : tensor<5x10x6x6xf32>
  %si = graph.mul %n, %sg : (tensor<5x10x6x6xf32>, tensor<5x10x6x6xf32>) -> tensor<5x10x6x6xf32>
  %p = graph.avg_pool %si {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}
    : (tensor<5x10x6x6xf32>) -> tensor<5x10x3x3xf32>
  %f = graph.reshape %p : tensor<5x10x3x3xf32> to tensor<5x90xf32>
  %th = graph.tanh %f : tensor<5x90xf32>
  %l = graph.matmul %th, %fw : (tensor<5x90xf32>, tensor<90x7xf32>) -> tensor<5x7xf32>
  %lb = graph.add %l, %fb : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  return %lb : tensor<5x7xf32>
}
)";

static std::string referencePath(const NetworkCase &c, const char *end) {
  const char *dir = std::getenv("MPC_SHARED_DIR");
  std::string shared = dir ? dir : MPC_SHARED_DIR, reference = shared + "/gradref/ref_" + c.name + end;
  return llvm::sys::fs::exists(reference) ? reference : shared + "/models/full-size/" + c.name + end;
}

std::vector<NetworkCase> mpc::test::networkCases() {
  const std::tuple<const char *, const char *, double> networks[] = {
      {"own", "adamw,lr=0.01,weight_decay=0.1", 0.5},
      {"mlp_ce", "sgd,lr=0.05", 0},
      {"lenet_ce", "adam,lr=0.001", 0},
      {"bncnn_ce", "adamw,lr=0.001,weight_decay=0.01", 0},
      {"vgg_cifar_ce", "sgd,lr=0.05,momentum=0.9,weight_decay=0.0001", 0},
      {"resnet_basic_cifar_ce", "sgd,lr=0.05,momentum=0.9,nesterov=1", 1}};
  std::vector<NetworkCase> cases;
  for (auto [name, optimizer, clip] : networks)
    for (auto [precision, level] :
         {std::pair("fp32", "O0"), {"fp16", "O1"}, {"fp16", "O2"}, {"bf16", "O1"}, {"bf16", "O2"}})
      cases.push_back({name, precision, level, optimizer, clip});
  return cases;
}

/// Returns the one GPU for which `make test` plans a case.
static StringRef gpuOf(const NetworkCase &c) {
  if (c.precision == "fp32" || (c.precision == "bf16" && c.level == "O1"))
    return "sm_80";
  return c.precision == "fp16" && c.level == "O2" ? "sm_75" : "sm_90a";
}

std::vector<GpuCase> mpc::test::gpuCases(const std::vector<NetworkCase> &cases) {
  std::vector<GpuCase> pairs;
  for (const NetworkCase &c : cases)
    for (const char *arch : {"sm_75", "sm_80", "sm_90a"})
      if (arch == gpuOf(c) || std::getenv("MPC_ALL_PAIRS"))
        pairs.push_back({c, arch});
  return pairs;
}

std::vector<NetworkCase> mpc::test::plannedCases() {
  std::vector<NetworkCase> cases;
  for (const char *name : {"alexnet_lrn_cifar_ce", "bert_tiny_ce", "gpt2_tiny_ce", "inception_aux_cifar_ce",
                           "lstmp_unrolled_ce", "mobilenet_v2_ce", "resnet50_ce", "densenet121_ce"})
    cases.push_back({name, "fp16", "O1", "adamw,lr=0.001", 1});
  return cases;
}

bool mpc::test::available(const NetworkCase &c) {
  return c.name == "own" || llvm::sys::fs::exists(referencePath(c, ".onnx"));
}

std::unique_ptr<MLIRContext> mpc::test::makeNetworkContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerEvaluatorModels(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

OwningOpRef<ModuleOp> mpc::test::planNetwork(MLIRContext *context, const NetworkCase &c, const GpuArch *gpu) {
  // The importer's remarks on roles are of no interest here.
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &d) { return success(d.getSeverity() == DiagnosticSeverity::Remark); });
  ImportOptions import;
  if (c.batch > 0)
    import.batch = c.batch;
  OwningOpRef<ModuleOp> module = c.name == "own" ? parseSourceString<ModuleOp>(ownNetwork, context)
                                                 : importOnnx(*context, referencePath(c, ".onnx"), import);
  TrainingOptions options;
  options.loss = c.name == "own" ? "softmax_cross_entropy:logits:target" : "";
  options.precision = c.precision;
  options.optLevel = c.level;
  options.optimizer = c.optimizer;
  options.clipNorm = c.clipNorm;
  options.scaler = c.precision == "fp32" ? "none" : "dynamic,init_scale=1024";
  options.keepGradients = false; // entries that keep gradients have the same dispatches
  if (!module || failed(buildTraining(*module, options)) ||
      failed(gpu ? planForGpu(*module, {.arch = gpu, .ptxas = {}}) : planForHost(*module, HostOptions())))
    return {};
  return module;
}

SmallVector<HostTensor> mpc::test::inputsOf(Operation *entry, const NetworkCase &c) {
  auto function = cast<FunctionOpInterface>(entry);
  std::optional<rt::NpzReader> reference;
  if (c.name != "own")
    reference.emplace(referencePath(c, ".npz"));
  std::mt19937_64 random(3);
  SmallVector<HostTensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    HostTensor tensor(cast<RankedTensorType>(function.getArgument(i).getType()));
    if (reference) {
      auto name = function.getArgAttrOfType<StringAttr>(i, train::kNameAttr);
      rt::Array array = reference->read("in_" + name.str());
      // Dimension d of the stored tensor is dimension permutation[d] of the array.
      SmallVector<int64_t> arrayStrides = stridesOf(array.shape), storedStrides = stridesOf(tensor.shape);
      auto permutation = function.getArgAttrOfType<DenseI64ArrayAttr>(i, train::kPermutationAttr);
      for (size_t at = 0; at < tensor.values.size(); ++at) {
        int64_t from = 0;
        for (auto [d, stride] : llvm::enumerate(storedStrides))
          from += int64_t(at) / stride % tensor.shape[d] * arrayStrides[permutation ? permutation[d] : d];
        tensor.values[at] = rt::loadDouble(array.dtype, array.data, size_t(from));
      }
    } else {
      for (double &v : tensor.values)
        v = isa<FloatType>(tensor.element) ? std::normal_distribution<double>()(random) : double(random() % 7);
      tensor.round();
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}
