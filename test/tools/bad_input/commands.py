# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong options, outputs and checkpoints that mpc itself must refuse."""
import os
import shutil

import numpy as np
from onnx import TensorProto

from bad_input.programs import checkpoint, cut, flip
from bad_input.row import Row
from models import INT64, Graph, mlp

C = "mpc compile mlp.onnx --batch 8 -o out $LOSS "
RUN = "mpc run mlp.onnx --batch 64 "


def embedding(index):
    """Makes bad.onnx, words [2, 3] -> rows of a table of ten, and bad.npz with words, the last of which is `index`."""
    def make(folder):
        g = Graph()
        g.node("Gather", [g.weight("table", (10, 4)), g.node("Cast", [g.input("words", [2, 3], INT64)], "cast", to=INT64)], "y")
        g.output("y", [2, 3, 4]).save(f"{folder}/bad.onnx")
        np.savez(f"{folder}/bad.npz", words=np.array([[0, -10, 9], [1, 2, index]]))
    return make


def transposed(folder):
    """Makes bad.onnx, x [2, 3, 8, 8] -> y, and bad.npz with x as images [2, 8, 8, 3]."""
    g = Graph()
    g.node("Relu", [g.input("x", [2, 3, 8, 8])], "y")
    g.output("y", [2, 3, 8, 8]).save(f"{folder}/bad.onnx")
    np.savez(f"{folder}/bad.npz", x=np.zeros((2, 8, 8, 3), np.float32))


def beside_data(folder):
    """Makes bad.onnx: the trained network and an initializer in a data file."""
    proto = mlp().proto()
    tensor = proto.graph.initializer.add(name="frozen", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="frozen.bin")
    with open(f"{folder}/bad.onnx", "wb") as file:
        file.write(proto.SerializeToString())
    os.mkdir(f"{folder}/other")


def recommender(*last):
    """Makes bad.onnx, ids [2, 2] -> rows of a table of ten and of a table of five, one for each column, and bad.npz with ids, the last of which are given."""
    def make(folder):
        g = Graph()
        g.input("ids", [2, 2], INT64)
        rows = []
        for column, size in enumerate((10, 5)):
            g.constant(f"at{column}", np.array([column]))
            g.constant(f"behind{column}", np.array([column + 1]))
            g.node("Slice", ["ids", f"at{column}", f"behind{column}", g.constant(f"axis{column}", np.array([1]))], f"ids{column}")
            rows.append(g.node("Gather", [g.weight(f"table{column}", (size, 4)), f"ids{column}"], f"rows{column}"))
        g.node("Add", rows, "y")
        g.output("y", [2, 1, 4]).save(f"{folder}/bad.onnx")
        np.savez(f"{folder}/bad.npz", ids=np.array([[9, -5], last]))
    return make


def copied(source, target):
    return lambda folder: shutil.copyfile(f"{folder}/{source}", f"{folder}/{target}")


def with_data_file(folder):
    """Makes bad.onnx: the network, with its first weight in weights.bin."""
    proto = mlp().proto()
    tensor = proto.graph.initializer[0]
    with open(f"{folder}/weights.bin", "wb") as file:
        file.write(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    with open(f"{folder}/bad.onnx", "wb") as file:
        file.write(proto.SerializeToString())


def hand_written_header(folder):
    with open(f"{folder}/out.h", "w") as file:
        file.write("/* by hand */\n")


def pipe(folder):
    os.mkfifo(f"{folder}/pipe")


def occupied(folder):
    os.mkdir(f"{folder}/out")


ROWS = [
    # The command line
    Row("unknown-command", "mpc transmogrify mlp.onnx", ["transmogrify"]),
    Row("no-command", "mpc", ["subcommand"]),
    Row("no-model", "mpc compile", ["model is required"]),
    Row("unknown-option", C + "--frobnicate", ["--frobnicate"]),
    Row("option-without-value", C + "--lr", ["--lr"]),
    Row("text-for-a-number", C + "--lr fast", ["--lr", "fast"]),
    # Values
    Row("lr-nan", C + "--lr nan", ["'lr'", "nan"]),
    Row("lr-negative", C + "--lr -0.1", ["'lr'", "-0.1"]),
    Row("momentum-2", C + "--momentum 2", ["'momentum'", "[0, 1)"]),
    Row("beta-above-1", C + "--optimizer adam --betas 1.5,0.9", ["'beta1'", "[0, 1)"]),
    Row("one-beta", C + "--optimizer adam --betas 0.9", ["--betas"]),
    Row("eps-negative", C + "--optimizer adam --eps -1", ["'eps'"]),
    Row("weight-decay-inf", C + "--weight-decay inf", ["'weight_decay'"]),
    Row("momentum-of-adam", C + "--optimizer adam --momentum 0.9", ["no hyperparameter 'momentum'"]),
    Row("nesterov-without-momentum", C + "--optimizer sgd --nesterov", ["nesterov needs a momentum"]),
    Row("unknown-optimizer", C + "--optimizer sgdd", ["'sgdd'", "adamw"]),
    Row("batch-0", C.replace("--batch 8", "--batch 0"), ["--batch", "positive"]),
    Row("batch-negative", C.replace("--batch 8", "--batch -8"), ["--batch", "positive"]),
    Row("batch-beyond-memory", C.replace("--batch 8", "--batch 9000000000000"), ["2^33 elements"]),
    Row("accumulate-0", C + "--accumulate 0", ["--accumulate", "positive"]),
    Row("clip-norm-nan", C + "--clip-norm nan", ["--clip-norm", "positive"]),
    Row("clip-norm-negative", C + "--clip-norm -1", ["--clip-norm", "positive"]),
    Row("clip-value-inf", C + "--clip-value -inf", ["--clip-value", "positive"]),
    Row("unknown-precision", C + "--precision fp12", ["--precision", "fp12"]),
    Row("unknown-level", C + "--opt-level O7", ["--opt-level", "O7"]),
    Row("loss-scale-negative", C + "--loss-scale -4", ["--loss-scale", "'-4'"]),
    Row("loss-scale-nan", C + "--loss-scale nan", ["--loss-scale", "'nan'"]),
    Row("growth-below-1", C + "--precision fp16 --growth-factor 0.5", ["growth_factor"]),
    Row("growth-interval-0", C + "--precision fp16 --growth-interval 0", ["growth_interval"]),
    Row("scale-bounds-crossed", C + "--precision fp16 --min-scale 4 --max-scale 2", ["min_scale"]),
    Row("scaler-options-without-scaler", C + "--precision fp32 --init-scale 4", ["--loss-scale=dynamic"]),
    Row("dim-without-value", C + "--dim N", ["--dim", "NAME=VALUE"]),
    Row("dim-0", C + "--dim N=0", ["--dim", "NAME=VALUE"]),
    Row("dim-unknown", C + "--dim sequence=4", ["sequence"]),
    Row("unknown-target", C + "--target sm_1", ["'sm_1'", "host"]),
    Row("unknown-cpu", C + "--cpu z80", ["'z80'", "x86-64-v3"]),
    Row("unknown-mode", C + "--mode sideways", ["--mode"]),
    Row("unknown-emit", C + "--emit wasm", ["--emit"]),
    Row("unknown-stage", C + "--dump-ir nowhere", ["no stage 'nowhere'"]),
    Row("memory-limit-text", C + "--memory-limit lots", ["--memory-limit", "'lots'"]),
    Row("memory-limit-0", C + "--memory-limit 0", ["--memory-limit", "'0'", "without the option"]),
    Row("memory-limit-beyond-64-bits", C + "--memory-limit 99999999999999GiB", ["--memory-limit", "is not a valid size"]),
    Row("memory-limit-too-small", C + "--memory-limit 1KiB --precision fp32", ["more than the limit", "--precision=fp16 --opt-level=O2"]),
    Row("memory-limit-of-O1", C + "--memory-limit 1KiB --precision bf16", ["more than the limit", "--recompute=auto, or --opt-level=O2"]),
    Row("memory-limit-of-O2", C + "--memory-limit 1KiB --precision fp16 --opt-level O2", ["more than the limit", "hint: take a smaller --batch, or --recompute=auto\n"]),
    # Names and patterns
    Row("loss-form", "mpc compile mlp.onnx --batch 8 -o out --loss hinge:logits:label", ["'hinge'"]),
    Row("loss-output", "mpc compile mlp.onnx --batch 8 -o out --loss mse:nothing:target", ["no output 'nothing'", "logits"]),
    Row("loss-incomplete", "mpc compile mlp.onnx --batch 8 -o out --loss mse", ["mse"]),
    Row("loss-labels-are-data", "mpc compile mlp.onnx --batch 8 -o out --loss softmax_cross_entropy:logits:x", ["input 'x'", "labels"]),
    Row("loss-not-scalar", "mpc compile mlp.onnx --batch 8 -o out --loss output:logits", ["logits"]),
    Row("loss-option", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,focus=2"), ["no option 'focus'", "[,axis=N][,ignore_index=-100][,label_smoothing=0]"]),
    Row("loss-option-of-another-form", C.replace("$LOSS", "--loss mse:logits:t,axis=1"), ["loss 'mse' has no option 'axis'", "hint: write mse:PREDICTION:TARGET[,reduction=mean|sum]"]),
    Row("loss-option-twice", C.replace("$LOSS", "--loss mse:logits:t,reduction=sum,reduction=mean"), ["gives 'reduction' twice"]),
    Row("loss-axis-text", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,axis=last"), ["axis='last' is not the number of a dimension"]),
    Row("loss-axis-of-the-batch", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,axis=0"), ["axis=0 is no dimension of classes of 'logits' [8,3]", "dimension 1 is the only one", "dimension 0 counts the samples"]),
    Row("loss-smoothing", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,label_smoothing=1.5"), ["label_smoothing='1.5' is not a number from 0 to 1"]),
    Row("loss-weights", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,weight=1/2"), ["weight has 2 numbers, but 'logits' [8,3] has 3 classes"]),
    Row("loss-weights-file", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,weight=none.npy"), ["none.npy", "No such file"]),
    Row("loss-weights-table", C.replace("$LOSS", "--loss softmax_cross_entropy:logits:label,weight=w.npy"), ["w.npy: holds an array of shape [3,1]"], lambda f: np.save(f"{f}/w.npy", np.ones((3, 1)))),
    Row("loss-reduction", C.replace("$LOSS", "--loss mse:logits:t,reduction=none"), ["reduction='none' is not mean or sum: a loss is one number"]),
    Row("names-at-once", C.replace("$LOSS", "--loss mse:nothing:t --outputs what,why --param-group conv9:lr=0.1"), ["no output 'nothing'", "no output 'what'", "no output 'why'", "'conv9' matches no parameter"]),
    Row("names-and-dimensions-at-once", "mpc compile mlp.onnx -o out --dim M=3 --loss softmax_cross_entropy:scores:label", ["no input has a dimension of this name", "no output 'scores'"]),
    Row("metric-form", C + "--metric f7:logits:label", ["'f7:logits:label' is not a metric", "hint: did you mean 'f1'? write KIND or KIND:OUTPUT:TARGET, KIND = accuracy"]),
    Row("metric-average", C + "--metric f1:binary", ["metric 'f1:binary': binary is for 2 classes, and there are 3", "write :macro or :micro"]),
    Row("metric-top-of-few", C + "--metric top5", ["metric 'top5': there are only 3 classes"]),
    Row("metric-twice", C + "--metric f1,f1", ["metric 'f1' is given twice"]),
    Row("metric-of-another-loss", C + "--metric mae", ["metric 'mae': the loss does not say what it compares", "hint: write mae:OUTPUT:TARGET"]),
    Row("metric-map-option", C + "--metric map,nmz=0.3", ["metric 'map,nmz=0.3': has no option 'nmz'", "hint: did you mean 'nms'? write map[:DETECTIONS:SCORES:BOXES:LABELS]"]),
    Row("metric-map-number", C + "--metric map,nms=2", ["nms='2' is not a number from 0 to 1", "hint: write for example map,iou=0.5,nms=0.5"]),
    Row("metric-map-of-no-detector", C + "--metric map", ["metric 'map': no outputs [batch,anchors,4] and [batch,anchors,classes]", "hint: name them: map[:DETECTIONS"]),
    Row("metric-map-names", C + "--metric map:logits:logits:x:label", ["metric 'map:logits:logits:x:label': 'logits' is tensor<8x3xf32>, but scores are floats [batch,anchors,classes]"]),
    Row("loss-pos-weight", C.replace("$LOSS", "--loss bce_with_logits:logits:t,pos_weight=1/2"), ["pos_weight has 2 numbers, but 'logits' [8,3] has another last dimension"]),
    Row("loss-pos-weight-negative", C.replace("$LOSS", "--loss bce_with_logits:logits:t,pos_weight=-1"), ["pos_weight='-1' is not numbers of at least 0"]),
    Row("metric-output", C + "--metric accuracy:nothing:label", ["nothing"]),
    Row("outputs", C + "--outputs nothing", ["nothing"]),
    Row("freeze-pattern", C + "--freeze (", ["--freeze", "not a regular expression"]),
    Row("freeze-everything", C + "--freeze .", ["--freeze", "'.' freezes every parameter: there is nothing to train"]),
    Row("freeze-nothing", C + "--freeze nothing.*", ["--freeze", "'nothing.*' matches no float initializer", "mpc check"]),
    Row("freeze-data", C + "--freeze ^x$", ["--freeze", "matches no float initializer"]),
    Row("trainable-nothing", C + "--trainable nomatch", ["--trainable", "'nomatch' matches no float initializer: there is nothing to train"]),
    Row("trainable-is-frozen", C + "--trainable fc1 --freeze fc", ["--freeze", "'fc' freezes every parameter"]),
    Row("params-nothing", C + "--params nomatch", ["--params", "'nomatch' matches no graph input and no initializer"]),
    Row("step-of-nothing", "mpc compile mlp.onnx --batch 8 -o out $LOSS --step a:params=nomatch", ["no parameter matches 'nomatch'"]),
    Row("params-pattern", C + "--params [", ["--params", "not a regular expression"]),
    Row("deny-pattern", C + "--precision fp16 --deny (", ["'('"]),
    Row("group-pattern", C + "--param-group (:lr=0.1", ["'('"]),
    Row("group-key", C + "--param-group fc1:speed=0.1", ["'speed'"]),
    Row("group-nan", C + "--param-group fc1:lr=nan", ["lr"]),
    Row("group-kind", C + "--param-group @norm:lr=0.1", ["'@norm'", "@norms, @biases, @embeddings"]),
    Row("group-kind-matches-nothing", C + "--param-group @biases,@norms:lr=0.1", ["'@norms' matches no parameter", "scales and shifts of norms"]),
    Row("group-matches-nothing", C + "--param-group conv9:lr=0.1", ["conv9"]),
    Row("step-key", "mpc compile mlp.onnx --batch 8 -o out --step a:colour=red", ["'colour=red'"]),
    Row("two-steps-of-one-name", "mpc compile mlp.onnx --batch 8 -o out --step a:loss=mse:logits:t --step a:loss=mse:logits:t", ["two steps are named 'a'"]),
    # Where results go
    Row("output-folder-missing", C.replace("-o out", "-o nowhere/out"), ["nowhere/out", "No such file"]),
    Row("output-is-a-folder", C, ["out"], occupied),
    Row("output-on-a-full-disk", C.replace("-o out", "-o full"), ["full", "No space left"]),
    Row("output-is-the-model-by-default", "mpc compile bare --batch 8 $LOSS", ["bare: is read, so it cannot be written"], copied("mlp.onnx", "bare")),
    Row("output-is-the-model", C.replace("-o out", "-o mlp.onnx"), ["mlp.onnx: is read"]),
    Row("output-is-a-link-to-the-model", C, ["out: is the same file as mlp.onnx, which is read"], lambda f: os.link(f"{f}/mlp.onnx", f"{f}/out")),
    Row("output-is-the-model-elsewhere", C.replace("-o out", "--emit mlir -o here/mlp.onnx"), ["here/mlp.onnx: is the same file as mlp.onnx"], lambda f: os.symlink(".", f"{f}/here")),
    Row("output-is-a-data-file-of-the-model", C.replace("mlp.onnx", "bad.onnx").replace("-o out", "-o weights.bin"), ["weights.bin: is the same file as ./weights.bin"], with_data_file),
    Row("kernels-are-the-model", C.replace("mlp.onnx", "out.x86-64-v3.o").replace("-o out", "--emit obj -o out.o"), ["out.x86-64-v3.o: is read"], copied("mlp.onnx", "out.x86-64-v3.o")),
    Row("header-is-the-model", C.replace("mlp.onnx", "out.h").replace("-o out", "--emit lib -o libout.so"), ["out.h: is read"], copied("mlp.onnx", "out.h")),
    Row("header-of-another-hand", C.replace("-o out", "--emit lib -o libout.so"), ["out.h: exists and is no header of mpc's", "-o"], hand_written_header),
    Row("library-named-as-its-header", C.replace("-o out", "--emit lib -o out.h"), ["out.h: is the name of the library's header", ".so"]),
    Row("run-output-is-the-model", RUN + "--data train.npz --out mlp.onnx", ["mlp.onnx: is read"]),
    Row("run-output-is-the-data", RUN + "--data train.npz --out train.npz", ["train.npz: is read"]),
    Row("export-output-is-the-model", "mpc export mlp.onnx --checkpoint mlp.safetensors -o mlp.onnx", ["mlp.onnx: is read"]),
    Row("export-output-is-the-checkpoint", "mpc export mlp.onnx --checkpoint mlp.safetensors -o mlp.safetensors", ["mlp.safetensors: is read"]),
    Row("export-output-is-a-data-file", "mpc export bad.onnx --checkpoint mlp.safetensors -o weights.bin", ["weights.bin: is the same file as ./weights.bin"], with_data_file),
    Row("bundle-folder-missing", C.replace("-o out", "-o nowhere/out --bundle"), ["nowhere"]),
    Row("output-to-a-pipe-without-reader", C.replace("-o out", "-o pipe"), ["'pipe' is a pipe that nobody reads"], pipe),
    Row("ir-to-a-pipe-without-reader", C.replace("-o out", "-o pipe --emit mlir"), ["'pipe' is a pipe that nobody reads"], pipe),
    Row("export-to-a-pipe-without-reader", "mpc export mlp.onnx --checkpoint mlp.safetensors -o pipe", ["'pipe' is a pipe that nobody reads"], pipe),
    Row("run-to-a-pipe-without-reader", RUN + "--data train.npz --out pipe", ["pipe: is a pipe that nobody reads"], pipe),
    Row("run-output-on-a-full-disk", RUN + "--data train.npz --out full", ["full", "No space left"]),
    Row("run-output-folder-missing", RUN + "--data train.npz --out nowhere/out.npz", ["nowhere/out.npz"]),
    Row("export-output-on-a-full-disk", "mpc export mlp.onnx --checkpoint mlp.safetensors -o full", ["full", "No space left"]),
    Row("export-output-is-a-folder", "mpc export mlp.onnx --checkpoint mlp.safetensors -o out", ["out"], occupied),
    # Data and checkpoints
    Row("run-data-missing", RUN + "--data nowhere.npz --out out.npz", ["nowhere.npz"]),
    Row("run-data-is-a-model", RUN + "--data mlp.onnx --out out.npz", ["mlp.onnx"]),
    Row("run-data-transposed", "mpc run bad.onnx --data bad.npz --out out.npz", ["input 'x' has shape [2,3,8,8], not [2,8,8,3]", "same order"], transposed),
    Row("run-data-truncated", RUN + "--data cut.npz --out out.npz", ["cut.npz"], cut("train.npz", "cut.npz", 300)),
    Row("run-data-of-another-model", RUN + "--data train5.npz --out out.npz", ["x", "[64,4]"]),
    Row("run-array-missing", "mpc run bad.onnx --data train.npz --out out.npz", ["has no array 'pixels'"], lambda f: __import__("models").mlp(name="pixels", batch=64).save(f"{f}/bad.onnx")),
    Row("run-array-of-the-batch-missing", "mpc run bad.onnx --data train.npz --out out.npz", ["train.npz: has no array 'image'"], lambda f: mlp(name="image").save(f"{f}/bad.onnx")),
    Row("run-index-out-of-range", "mpc run bad.onnx --data bad.npz --out out.npz", ["input 'words': element 5 is index 10, not in [-10, 10)"], embedding(10)),
    Row("run-index-in-the-first-column", "mpc run bad.onnx --data bad.npz --out out.npz", ["input 'ids': element 2 is index 37, not in [-10, 10)"], recommender(37, 0)),
    Row("run-index-in-the-second-column", "mpc run bad.onnx --data bad.npz --out out.npz", ["input 'ids': element 3 is index 9, not in [-5, 5)"], recommender(0, 9)),
    Row("run-index-before-the-first", "mpc run bad.onnx --data bad.npz --out out.npz", ["element 5 is index -11, not in [-10, 10)"], embedding(-11)),
    Row("run-library", RUN + "--data train.npz --out out.npz --library abacus", ["--library"]),
    Row("run-threads", RUN + "--data train.npz --out out.npz --threads -3", ["--threads"]),
    Row("export-checkpoint-missing", "mpc export mlp.onnx --checkpoint nowhere.safetensors -o out.onnx", ["nowhere.safetensors"]),
    Row("export-checkpoint-of-another-model", "mpc export mlp.onnx --checkpoint other.safetensors -o out.onnx", ["fc1.weight", "another shape"]),
    Row("export-checkpoint-truncated", "mpc export mlp.onnx --checkpoint cut.safetensors -o out.onnx", ["cut.safetensors", "truncated"], cut("mlp.safetensors", "cut.safetensors", 100)),
    Row("export-state-without-a-place", "mpc export mlp.onnx --checkpoint ckpt/step-00000008.safetensors -o out.onnx", ["mlp.onnx: has no initializer or input 'fc2.bias@logits'"],
        checkpoint(header=lambda h: (h.__setitem__("fc2.bias@logits", h.pop("fc2.bias")),
                                     h["__metadata__"].__setitem__("network", h["__metadata__"]["network"].replace("fc2.bias", "fc2.bias@logits"))))),
    Row("export-away-from-its-data", "mpc export bad.onnx --checkpoint mlp.safetensors -o other/out.onnx", ["frozen: external data file 'frozen.bin'"], beside_data),
    Row("export-checkpoint-damaged", "mpc export mlp.onnx --checkpoint ckpt/step-00000008.safetensors -o out.onnx", ["checksum"], checkpoint(flip(-3))),
    Row("export-checkpoint-is-a-model", "mpc export mlp.onnx --checkpoint mlp.onnx -o out.onnx", ["no safetensors file"]),
    Row("export-checkpoint-without-parameters", "mpc export lenet.onnx --checkpoint mlp.safetensors -o out.onnx", ["lenet.onnx"]),
]
