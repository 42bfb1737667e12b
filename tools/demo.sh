#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles a small network, trains it in fp16 (O2), evaluates it, and writes the trained weights back to ONNX.
# usage: tools/demo.sh BUILD_DIR
set -euo pipefail
build=$(cd "${1:-build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
demo="$build/demo"
mpc="$build/bin/mpc"
run() { echo "\$ ${*/#$build\//}"; "$@"; echo; }

/usr/bin/python3 "$source/tools/demo/make_demo.py" "$demo"
cd "$demo"
rm -rf demo-checkpoints # an earlier demo may have left them
run "$mpc" compile digits.onnx -o digits --bundle --batch 64 --precision fp16 --opt-level O2 \
  --loss softmax_cross_entropy:logits:label --optimizer sgd --momentum 0.9 --lr 0.05
run ./digits train --data train.npz --val test.npz --epochs 3 --schedule cosine --seed 1 --checkpoint-dir demo-checkpoints --log run.jsonl
checkpoint=$(ls demo-checkpoints/*.safetensors | sort | tail -n 1)
run ./digits eval --data test.npz --checkpoint "$checkpoint"
run ./digits predict --data test.npz --checkpoint "$checkpoint" --out predicted.npz
run "$mpc" export digits.onnx --checkpoint "$checkpoint" -o trained.onnx
run "$mpc" run trained.onnx --data test.npz --out reproduced.npz
/usr/bin/python3 - <<'PYTHON'
import sys
import numpy as np
label = np.load("test.npz")["label"]
predicted, reproduced = np.load("predicted.npz")["logits"], np.load("reproduced.npz")["logits"]
accuracy = [float((logits.argmax(1) == label).mean()) for logits in (predicted, reproduced)]
# The logits differ because each operation on fp16 activations has a relative error of up to 2^-11.
difference = float(np.abs(predicted - reproduced).max() / np.abs(reproduced).max())
print(f"accuracy on {len(label)} test pictures: program {accuracy[0]:.2%}, exported model {accuracy[1]:.2%}; logits differ by {difference:.1e}")
sys.exit(0 if accuracy[0] >= 0.97 and abs(accuracy[0] - accuracy[1]) < 0.005 and difference < 2e-2 else "the demo did not reach what it should")
PYTHON
