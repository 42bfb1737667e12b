# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CTC loss of `mpc compile --loss=ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS` in torch (docs/losses.md)."""
import torch
from torch.nn import functional

from .errors import ExportError

OPTIONS = ("blank", "zero_infinity", "batch_first", "max_target", "reduction")
TARGET = "TARGETS:INPUT_LENGTHS:TARGET_LENGTHS"


class Ctc:
    """A parsed CTC loss; `targets` are the names of its inputs. INPUT_LENGTHS may be empty: then every sample has all frames."""
    form = "ctc"

    def __init__(self, text, prediction, names, options):
        self.text, self.prediction = text, prediction
        parts = names.split(":")
        if len(parts) != 3 or not parts[0] or not parts[2] or len(set(parts)) != 3:
            raise ExportError(f"--loss {text}: ctc does not find its three inputs in '{names}'\nhint: write ctc:LOGITS:{TARGET}; INPUT_LENGTHS may be empty")
        self.rows, self.input_lengths, self.lengths = parts
        self.targets = [name for name in parts if name]
        self.blank = options.get("blank", 0)
        self.zero_infinity = options.get("zero_infinity", False)
        self.batch_first = options.get("batch_first")
        self.longest = options.get("max_target")
        self.reduction = options.get("reduction", "mean")
        self.activation = ""  # log-softmax gives the same for scores and for what LogSoftmax or log(Softmax) makes of them

    def fit(self, scores, batch):
        """Finds which dimension counts the samples."""
        shape = list(scores.shape)
        if scores.dim() != 3 or batch not in shape[:2]:
            raise ExportError(f"--loss {self.text}: scores of a CTC loss are [T, N, C] or [N, T, C] for {batch} samples, but '{self.prediction}' is {shape}\n"
                              "hint: name the output with the scores of the frames")
        if self.batch_first is None:
            if shape[0] == shape[1]:
                raise ExportError(f"--loss {self.text}: dimensions 0 and 1 of '{self.prediction}' {shape} both have the extent of the batch\n"
                                  f"hint: say which counts the samples: {self.text},batch_first=true or {self.text},batch_first=false")
            self.batch_first = shape[0] == batch
        if shape[0 if self.batch_first else 1] != batch:
            raise ExportError(f"--loss {self.text}: batch_first={str(self.batch_first).lower()}, but '{self.prediction}' is {shape} for {batch} samples\n"
                              "hint: leave batch_first out")
        if shape[2] < 2 or not 0 <= self.blank < shape[2]:
            raise ExportError(f"--loss {self.text}: blank={self.blank} is no class of '{self.prediction}' {shape} beside others\nhint: write a number from 0 to {shape[2] - 1}")

    def complete(self, scores, given, batch):
        """Returns ({name: tensor}, the names of those that were drawn). `given`: {name: tensor or None}."""
        self.fit(scores, batch)
        frames, classes = scores.shape[1 if self.batch_first else 0], scores.shape[2]
        rows = given[self.rows]
        longest = rows.shape[1] if rows is not None and rows.dim() == 2 else self.longest or frames
        generator = torch.Generator().manual_seed(1)
        labels = torch.tensor([c for c in range(classes) if c != self.blank])
        drawn = {self.rows: labels[torch.randint(0, classes - 1, (batch, longest), generator=generator)],
                 self.input_lengths: torch.randint(max(frames - frames // 4, 1), frames + 1, (batch,), generator=generator)}
        counts = self.frames_of({self.input_lengths: drawn[self.input_lengths], **{name: value for name, value in given.items() if value is not None}}, batch, frames)
        most = ((counts + 1) // 2).clamp(0, longest)  # each sample has frames for all labels, and for a blank between equal ones
        least = most.clamp(max=1)
        drawn[self.lengths] = least + (torch.rand(batch, generator=generator) * (most - least + 1)).long()
        chosen = {name: drawn[name] if given[name] is None else given[name] for name in self.targets}
        self.check(chosen, batch, frames, classes)
        return chosen, [name for name in self.targets if given[name] is None]

    def name_longest(self, rows, scores):
        """Says in the text of the loss how long targets are that are no input of forward, and shorter than mpc assumes."""
        if self.longest is None and rows.shape[1] != scores.shape[1 if self.batch_first else 0]:
            self.longest = rows.shape[1]
            self.text += f",max_target={self.longest}"

    def frames_of(self, chosen, batch, frames):
        """Returns the number of frames of each sample."""
        counts = chosen[self.input_lengths].cpu().long() if self.input_lengths else None
        return counts if counts is not None and list(counts.shape) == [batch] else torch.full((batch,), frames)

    def check(self, chosen, batch, frames, classes):
        rows = chosen[self.rows]
        longest = rows.shape[1] if rows.dim() == 2 else 0
        for name, tensor in chosen.items():
            wanted = [batch, self.longest or longest] if name == self.rows else [batch]
            if tensor.is_floating_point() or list(tensor.shape) != wanted:
                raise ExportError(f"--loss {self.text}: '{name}' is {str(tensor.dtype)[6:]} {list(tensor.shape)}, and should be integers {wanted}\n"
                                  "hint: leave it out, and the tool draws it")
        for name, most in ((self.lengths, longest), (self.input_lengths, frames)):
            lengths = chosen.get(name)
            if lengths is not None and not ((lengths >= 0) & (lengths <= most)).all():
                raise ExportError(f"--loss {self.text}: '{name}' holds lengths outside [0, {most}]\nhint: give lengths from 0 to {most}")
        inside = torch.arange(longest) < chosen[self.lengths].cpu()[:, None]
        labels = rows.cpu()[inside]
        if not ((labels >= 0) & (labels < classes) & (labels != self.blank)).all():
            raise ExportError(f"--loss {self.text}: '{self.rows}' holds labels outside [0, {classes}), or the blank {self.blank}\nhint: give labels below {classes} that are not the blank")
        equal = (rows.cpu()[:, 1:] == rows.cpu()[:, :-1]) & inside[:, 1:]
        needed, counts = chosen[self.lengths].cpu() + equal.sum(1), self.frames_of(chosen, batch, frames)
        for sample in torch.nonzero(needed > counts).flatten().tolist()[:0 if self.zero_infinity else 1]:
            raise ExportError(f"--loss {self.text}: sample {sample} has {int(chosen[self.lengths][sample])} labels, which need {int(needed[sample])} frames, and has {int(counts[sample])}, "
                              "so that its loss is infinite\nhint: give fewer labels or more frames, or leave both lengths out, and the tool draws them, or add zero_infinity to the loss")

    def of(self, outputs, target, scores_of):
        """Returns the scalar loss."""
        x = outputs[self.prediction]
        x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        if self.activation == "Softmax":
            known = scores_of(outputs[self.prediction])
            x = x.log() if known is None else known.to(x.dtype) if known.shape == x.shape else x
        x = functional.log_softmax(x.transpose(0, 1) if self.batch_first else x, 2)
        frames = target.get(self.input_lengths, torch.full((x.shape[1],), x.shape[0]))
        lengths = target[self.lengths].long()
        # What lies behind the end of a target may be anything.
        inside = torch.arange(target[self.rows].shape[1], device=lengths.device) < lengths[:, None]
        rows = torch.where(inside, target[self.rows].long(), 0 if self.blank else 1)
        return functional.ctc_loss(x, rows, frames.long(), lengths, blank=self.blank, reduction=self.reduction, zero_infinity=self.zero_infinity)
