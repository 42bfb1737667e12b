#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-opt with a pipeline makes the same module as `mpc compile` packages, kernels included, from the module above the line, which knows no target, and from
the imported one. MLIR's own options work on mpc's command line, and what its crash reproducers hold can be run again."""
import difflib
import json
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


def libraries():
    """Returns options of mpc-host: those by which `mpc compile` asks this machine's libraries for their scratch."""
    plugin = OPTIONS.bin + "/libmpc_onednn.so"
    return f"threads={len(os.sched_getaffinity(0))}" + (f" library={plugin}" if os.path.exists(plugin) else "")


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
            option = PIPELINES[target] + (f"=one-module {libraries()}" if target == "host" else "")  # one module, as --emit=llvm has
            found = harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/model.mlir", option, *ELIDED], seconds=300)
            same(dumped, found.strip(), f"{model} for {target}")
    return case


def training(flags):
    """Compares from the imported network on. The pipeline takes the words of the command line, without their dashes."""
    def case():
        with harness.folder() as folder:
            mlp().save(f"{folder}/model.onnx")
            compile_ = [OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", *(f"--{flag}" for flag in flags)]
            _, _, imported = harness.run([*compile_, "--emit=mlir", "--dump-ir=import", "-o", f"{folder}/model.mlir"])
            with open(f"{folder}/import.mlir", "w") as file:
                file.write(imported)
            _, _, dumped = harness.run([*compile_, "--emit=mlir", "--dump-ir=master-weights", "-o", f"{folder}/model.mlir"])
            same(dumped, harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/import.mlir", "--mpc-training=" + " ".join(flags), *ELIDED]).strip(), "training")
    return case


LOSS = "loss=softmax_cross_entropy:logits:labels"
TRAININGS = {
    "defaults": [],
    "AdamW": [LOSS, "precision=fp16", "opt-level=O1", "optimizer=adamw", "lr=0.5", "clip-norm=2"],
    "fp32 of O0": [LOSS, "opt-level=O0", "no-trace", "accumulate=2"],
    "capped scale of O2": [LOSS, "opt-level=O2", "loss-scale=dynamic", "no-cast-cache"],
    "static scale": [LOSS, "loss-scale=1024", "momentum=0.5", "nesterov"],
    "commas": ["step=a:" + LOSS + ":optimizer=adam,lr=0.25", "param-group=.*bias:lr=2,wd=0", "outputs=logits"],
}


def inference():
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        _, _, imported = harness.run([OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", "--emit=mlir", "--dump-ir=import", "-o", f"{folder}/model.mlir"])
        with open(f"{folder}/import.mlir", "w") as file:
            file.write(imported)
        found = harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/import.mlir", "--mpc-inference"])
        if "func.func @predict(" not in found or "@forward" in found:
            raise harness.Failure(f"no @predict alone: {found[:500]}")
        harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/import.mlir", "--mpc-inference", "--mpc-host"])


def tuner():
    """A tuner's stages can be seen as those of a program, and mpc-tuner makes the module of its kernels."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        compile_ = [OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", *TRAINING["fp16"]]
        harness.must([*compile_, "--emit=mlir", "-o", f"{folder}/model.mlir"])
        tuner_ = [*compile_, "--emit=tuner", "--target=sm_80,sm_90a", "--ptxas=none", "-o", f"{folder}/tuner"]
        for stage, arch in (("kernels", "sm_80"), ("sm_90a.kernels", "sm_90a")):
            status, _, dumped = harness.run([*tuner_, f"--dump-ir={stage}", "--mlir-timing"], seconds=300)
            dumped, _, timing = dumped.partition("===---")
            if status != 0:
                raise harness.Failure(dumped[-500:])
            same(dumped, harness.must([OPTIONS.bin + "/mpc-opt", f"{folder}/model.mlir", f"--mpc-tuner=arch={arch}", *ELIDED], seconds=300).strip(), f"a tuner for {arch}")
            for what in ("TunerCandidatesPass", "sm_80 code", "sm_90a code"):
                if what not in timing:
                    raise harness.Failure(f"--mlir-timing says nothing of {what}: {timing}")
        status, _, said = harness.run([*tuner_, "--dump-ir=nowhere"])
        if status != 1 or "no stage 'nowhere'" not in said:
            raise harness.Failure(f"an unknown stage: status {status}, {said}")


def reproducer():
    """The crash reproducer of a pipeline whose stages are dumped holds the pipeline, and fails again as it did."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        status, _, said = harness.run([OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", "--optimizer=sgd,nonsense=3", "--dump-ir=all",
                                       f"--mlir-pass-pipeline-crash-reproducer={folder}/crash.mlir", "-o", f"{folder}/model"])
        if status != 1 or "// ===== import" not in said or "no hyperparameter 'nonsense'" not in said:
            raise harness.Failure(f"status {status}: {said[-500:]}")
        status, _, said = harness.run([OPTIONS.bin + "/mpc-opt", f"{folder}/crash.mlir", "--run-reproducer"])
        if status == 0 or "no hyperparameter 'nonsense'" not in said:
            raise harness.Failure(f"the reproducer: status {status}, {said[-500:]}")


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
        status, _, said = harness.run([*compile_, "--mlir-print-ir-after=mpc-nonsense"])
        if status != 1 or "mpc-nonsense" not in said or "error: command line: an option of MLIR's has a wrong value" not in said or "hint:" not in said:
            raise harness.Failure(f"a wrong value: status {status}, {said}")


def wrong_arch():
    for pipeline in ("mpc-gpu", "mpc-tuner"):
        status, _, said = harness.run([OPTIONS.bin + "/mpc-opt", "/dev/null", f"--{pipeline}=arch=sm_1"])
        if status == 0 or "unknown architecture 'sm_1'; write arch= and one of sm_60" not in said:
            raise harness.Failure(f"{pipeline}: status {status}: {said}")


def wrong_tuning():
    """A file of another GPU is refused where the module's GPU is known."""
    with harness.folder() as folder:
        mlp().save(f"{folder}/model.onnx")
        with open(f"{folder}/tune.json", "w") as file:
            json.dump({"format": "mpc-tuning", "version": 1, "gpu": "a GPU", "arch": "sm_80", "problems": []}, file)
        harness.must([OPTIONS.bin + "/mpc", "compile", f"{folder}/model.onnx", "-q", "--batch=4", "--emit=mlir", "-o", f"{folder}/model.mlir"])
        status, _, said = harness.run([OPTIONS.bin + "/mpc-opt", f"{folder}/model.mlir", f"--mpc-gpu=arch=sm_90a tune={folder}/tune.json"])
        if status == 0 or "tune.json" not in said or "has schedules of sm_80, and this module is for sm_90a" not in said or "hint:" not in said:
            raise harness.Failure(f"status {status}: {said}")


CASES = {f"{model} for {target} in {precision}": equal(model, target, precision)
         for model in models() for target in PIPELINES for precision in TRAINING if model != "resnet18" or precision == "fp16"}
CASES.update({f"training, {name}": training(flags) for name, flags in TRAININGS.items()})
CASES.update({"inference": inference, "tuner": tuner, "MLIR's options": mlir_options, "crash reproducer": reproducer, "an unknown architecture": wrong_arch,
              "a tuning file of another GPU": wrong_tuning})

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"pipelines/{name}", case) for name, case in CASES.items()], OPTIONS.only)
