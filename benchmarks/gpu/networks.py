# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks around one layer or one kind of kernel, for measuring kernels on a GPU.

Makers return {"flops", "products"}: the operations of each product of the layer, and regular expressions for the names of the launches that compute it forward, its
input gradient and its weight gradient. A launch has the name of the last node that is fused into it.
"""


def gemm(net, m, n, k):
    """Makes x [batch, 64] -> logits [batch, 16]; fc1 is the product [m, k] x [k, n] and its two gradients, with batch = m."""
    y = net.relu(net.linear(net.input("x", ["batch", 64]), "fc0", 64, k), "relu0")
    y = net.relu(net.linear(y, "fc1", k, n), "relu1")
    net.output(net.linear(y, "logits", n, 16), ["batch", 16])
    return {"flops": 2 * m * n * k, "products": ["relu1:matmul", r"relu0:matmul\+compare", r"fc1(\.weight)?:matmul"]}


def conv(net, batch, size, c_in, c_out, kernel, stride):
    """Makes x [batch, 3, size, size] -> logits [batch, 16]; conv1 is the convolution under test with its two gradients."""
    y = net.relu(net.conv(net.input("x", ["batch", 3, size, size]), "conv0", 3, c_in, 1), "relu0")
    y = net.relu(net.conv(y, "conv1", c_in, c_out, kernel, stride, kernel // 2, bias=False), "relu1")
    y = net.node("Flatten", [net.node("GlobalAveragePool", [y], "pool")], "flatten")
    net.output(net.linear(y, "logits", c_out, 16), ["batch", 16])
    out = (size - 1) // stride + 1
    return {"products": ["relu1:conv", "relu0:conv_input_grad", r"conv1(\.weight)?:conv_weight_grad"], "flops": 2 * batch * out * out * c_out * c_in * kernel * kernel}


def product(net, m, n, k):
    """Makes y = x w^T with x [m, k], which is trained too, and w [n, k]: the only products are NT, its input gradient NN and its weight gradient TN."""
    net.output(net.node("Gemm", [net.parameter("x", (m, k), fan_in=k), net.parameter("w", (n, k), fan_in=k)], "y", transB=1), [m, n])
    return {"flops": 2 * m * n * k}


def convolution(net, batch, size, c_in, c_out, kernel, stride):
    """Makes one convolution of x [batch, c_in, size, size], which is trained too, padded by half its kernel; the only other products are its two gradients."""
    out = (size - 1) // stride + 1
    x = net.parameter("x", (batch, c_in, size, size), fan_in=c_in)
    net.output(net.conv(x, "y", c_in, c_out, kernel, stride, kernel // 2, bias=False), [batch, c_out, out, out])
    return {"flops": 2 * batch * out * out * c_out * c_in * kernel * kernel}


def stream(net, channels, size):
    """Makes x [batch, 3, size, size] -> logits [batch, 16] of operations that only stream memory, after one small convolution."""
    y = net.conv(net.input("x", ["batch", 3, size, size]), "conv0", 3, channels, 1)
    y = net.relu(net.batch_norm(y, "bn1", channels), "relu1")
    y = net.max_pool(y, "pool1")
    y = net.node("Sigmoid", [net.batch_norm(y, "bn2", channels)], "sigmoid")
    y = net.node("AveragePool", [y], "pool2", kernel_shape=[2, 2], strides=[2, 2])
    y = net.node("Softmax", [net.node("Transpose", [y], "last", perm=[0, 2, 3, 1])], "softmax", axis=-1)
    y = net.node("ReduceMean", [y], "mean", axes=[1, 2], keepdims=0)
    net.output(net.linear(y, "logits", channels, 16), ["batch", 16])
    return {}


# Each entry is name: (maker, its arguments); for `gemm` the batch is m. The shapes are those of GPT-2 124M with 8192 tokens, BERT-large with 4096, ResNet-50 with 64 pictures.
FULL = {
    "gemm-4096": (gemm, 4096, 4096, 4096), "gemm-8192": (gemm, 8192, 8192, 8192),
    "gpt2-attention-in": (gemm, 8192, 2304, 768), "gpt2-mlp-in": (gemm, 8192, 3072, 768), "gpt2-mlp-out": (gemm, 8192, 768, 3072),
    "bert-mlp-in": (gemm, 4096, 4096, 1024), "bert-attention-out": (gemm, 4096, 1024, 1024),
    "conv-56-64": (conv, 64, 56, 64, 64, 3, 1), "conv-28-128": (conv, 64, 28, 128, 128, 3, 1), "conv-14-256": (conv, 64, 14, 256, 256, 3, 1),
    "conv-28-stride": (conv, 64, 56, 128, 128, 3, 2), "conv-56-1x1": (conv, 64, 56, 64, 256, 1, 1),
    "stream": (stream, 256, 64),
}
SMALL = {"gemm-64": (gemm, 64, 64, 64), "conv-8-16": (conv, 2, 8, 16, 16, 3, 1), "stream": (stream, 16, 8)}
# Single layers for tuners and the model of expected time: the products of GPT-2 124M with 8192 tokens (its vocabulary is padded to 50304) and of BERT-large with 4096, and the
# convolutions of ResNet-50 with 64 pictures.
LAYERS = {
    "4096^3": (product, 4096, 4096, 4096), "8192^3": (product, 8192, 8192, 8192),
    "GPT-2 attention in": (product, 8192, 2304, 768), "GPT-2 attention out": (product, 8192, 768, 768), "GPT-2 MLP in": (product, 8192, 3072, 768),
    "GPT-2 MLP out": (product, 8192, 768, 3072), "GPT-2 vocabulary": (product, 8192, 50304, 768),
    "BERT attention": (product, 4096, 1024, 1024), "BERT MLP in": (product, 4096, 4096, 1024), "BERT MLP out": (product, 4096, 1024, 4096),
    "ResNet conv1": (convolution, 64, 224, 3, 64, 7, 2),
    "ResNet 56 64-64 1": (convolution, 64, 56, 64, 64, 1, 1), "ResNet 56 64-64 3": (convolution, 64, 56, 64, 64, 3, 1),
    "ResNet 56 64-256 1": (convolution, 64, 56, 64, 256, 1, 1), "ResNet 56 256-64 1": (convolution, 64, 56, 256, 64, 1, 1),
    "ResNet 56 256-128 1": (convolution, 64, 56, 256, 128, 1, 1), "ResNet 56 128-128 3/2": (convolution, 64, 56, 128, 128, 3, 2),
    "ResNet 56 256-512 1/2": (convolution, 64, 56, 256, 512, 1, 2), "ResNet 28 128-512 1": (convolution, 64, 28, 128, 512, 1, 1),
    "ResNet 28 512-128 1": (convolution, 64, 28, 512, 128, 1, 1), "ResNet 28 128-128 3": (convolution, 64, 28, 128, 128, 3, 1),
    "ResNet 28 512-256 1": (convolution, 64, 28, 512, 256, 1, 1), "ResNet 28 256-256 3/2": (convolution, 64, 28, 256, 256, 3, 2),
    "ResNet 28 512-1024 1/2": (convolution, 64, 28, 512, 1024, 1, 2), "ResNet 14 256-1024 1": (convolution, 64, 14, 256, 1024, 1, 1),
    "ResNet 14 1024-256 1": (convolution, 64, 14, 1024, 256, 1, 1), "ResNet 14 256-256 3": (convolution, 64, 14, 256, 256, 3, 1),
    "ResNet 14 1024-512 1": (convolution, 64, 14, 1024, 512, 1, 1), "ResNet 14 512-512 3/2": (convolution, 64, 14, 512, 512, 3, 2),
    "ResNet 14 1024-2048 1/2": (convolution, 64, 14, 1024, 2048, 1, 2), "ResNet 7 512-2048 1": (convolution, 64, 7, 512, 2048, 1, 1),
    "ResNet 7 2048-512 1": (convolution, 64, 7, 2048, 512, 1, 1), "ResNet 7 512-512 3": (convolution, 64, 7, 512, 512, 3, 1),
}
SMALL_LAYERS = {"small product": (product, 64, 72, 256), "small convolution": (convolution, 2, 8, 64, 16, 3, 1)}
# The layers that the bundle has tuners of.
TUNED = {"full": LAYERS, "small": SMALL_LAYERS}
BATCH = {"full": {"stream": 64}, "small": {"stream": 2}}


def batch_of(name, size, arguments):
    return BATCH[size].get(name, arguments[0])
