#!/usr/bin/python3
"""mpc-opt with a pipeline makes the same module as `mpc compile` packages, kernels included, from the module above the line, which knows no target, and from
the imported one. MLIR's own options work on mpc's command line."""
import difflib
import os

import harness
from models import lenet, mlp

PIPELINES = {"host": "--mpc-host", "sm_80": "--mpc-gpu=arch=sm_80", "sm_90a": "--mpc-gpu=arch=sm_90a"}
# The elements of large tensors are not compared.
ELIDED = ["--mlir-elide-elementsattrs-if-larger=16", "--mlir-elide-resource-strings-if-larger=64"]
TRAINING = {"fp32": ["--precision=fp32"], "fp16": ["--precision=fp16", "--opt-level=O2"]}


def models():
    """Returns functions that write a network to a path."""
    resnet = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "models", "full-size", "resnet18_ce.onnx")

    def link(path):
        if not os.path.exists(resnet):
            raise harness.Skip(f"{resnet} is not here")
        os.symlink(os.path.abspath(resnet), path)
    return {"mlp": mlp().save, "lenet": lenet().save, "resnet18": link}


def same(expected, found, where):
    expected, found = (text.replace("{-#\n\n#-}", "").strip() for text in (expected, found))  # removes an empty dictionary of resources
    if expected == found:
        return
    first = list(difflib.unified_diff(expected.splitlines(), found.splitlines(), "mpc compile", "mpc-opt", lineterm="", n=0))[:8]
    raise harness.Failure(f"{where}: " + "\n".join(line[:300] for line in first))


def equal(model, target, precision):
    def case():
        with harness.folder() as folder:
            path = f"{folder}/model.onnx"
            models()[model](path)
            compile_ = [OPTIONS.bin + "/mpc", "compile", path, "-q", "--batch=4", *TRAINING[precision]]
            harness.must([*compile_, "--emit=mlir", "-o", f"{folder}/model.mlir"])
            emit = ["--emit=llvm"] if target == "host" else ["--emit=ptx"]
            status, _, dumped = harness.run([*compile_, f"--target={target}", "--dump-ir=kernels", "--cpu=x86-64-v3", "-o", f"{folder}/kernels", *emit], seconds=300)
            if status != 0:
                raise harness.Failure(dumped[-500:])
            option = PIPELINES[target] + ("=one-module" if target == "host" else "")  # as --emit=llvm does
            found = harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/model.mlir", option, *ELIDED], seconds=300)
            same(dumped, found.strip(), f"{model} for {target}")
    return case


def training():
    """Compares from the imported network on."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        compile_ = [OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", "--precision=fp16", "--opt-level=O1", "--loss=softmax_cross_entropy:logits:labels",
                    "--optimizer=adamw", "--lr=0.5", "--clip-norm=2"]
        _, _, imported = harness.run([*compile_, "--emit=mlir", "--dump-ir=import", "-o", f"{folder}/model.mlir"])
        with open(f"{folder}/import.mlir", "w") as file:
            file.write(imported)
        _, _, dumped = harness.run([*compile_, "--emit=mlir", "--dump-ir=master-weights", "-o", f"{folder}/model.mlir"])
        options = "--mpc-training=loss=softmax_cross_entropy:logits:labels precision=fp16 opt-level=O1 optimizer=adamw,lr=0.5 clip-norm=2"
        same(dumped, harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/import.mlir", options, *ELIDED]).strip(), "training")


def mlir_options():
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        compile_ = [OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", "--target=host,sm_80", "--ptxas=none", "-o", f"{folder}/model"]
        _, _, said = harness.run([*compile_, "--mlir-timing"])
        for what in ("import", "training", "AutodiffPass", "host", "EmitKernelsPass", "host code", "sm_80", "SchedulePass", "sm_80 code", "Total"):
            if what not in said:
                raise harness.Failure(f"--mlir-timing says nothing of {what}: {said}")
        _, _, said = harness.run([*compile_, "--mlir-print-ir-after=mpc-schedule"])
        if "IR Dump After" not in said or "#kernel.contraction<" not in said:
            raise harness.Failure("--mlir-print-ir-after=mpc-schedule prints no schedules: " + said[:500])
        status, _, said = harness.run([*compile_, "--mlir-timings"])
        if status != 1 or "--mlir-timings" not in said or "hint:" not in said:
            raise harness.Failure(f"an unknown option: status {status}, {said}")


def wrong_arch():
    status, _, said = harness.run([OPTIONS.bin + "/mpc-opt", "/dev/null", "--mpc-gpu=arch=sm_1"])
    if status == 0 or "unknown architecture 'sm_1'; write arch= and one of sm_60" not in said:
        raise harness.Failure(f"status {status}: {said}")


CASES = {f"{model} for {target} in {precision}": equal(model, target, precision)
         for model in models() for target in PIPELINES for precision in TRAINING if model != "resnet18" or precision == "fp16"}
CASES.update({"training": training, "MLIR's options": mlir_options, "an unknown architecture": wrong_arch})

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"pipelines/{name}", case) for name, case in CASES.items()], OPTIONS.only)
