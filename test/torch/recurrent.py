# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small recurrent networks: language models, a tagger of sentences with lengths, a translator with attention, and a recogniser with convolutions."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from cases import CLASSES, VOCABULARY, Case, ids

WIDTH, HIDDEN = 8, 12


class LanguageModel(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = kind(WIDTH, HIDDEN, num_layers=2, batch_first=True, **options)
        self.head = nn.Linear(options.get("proj_size", HIDDEN), VOCABULARY)

    def forward(self, input_ids):
        return self.head(self.rnn(self.words(input_ids))[0])


class Tagger(nn.Module):
    """Tags the words of sentences of different lengths; behind the end of a sentence all features are zero."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn, self.head = nn.LSTM(WIDTH, HIDDEN, batch_first=True, bidirectional=True), nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, input_ids, lengths):
        packed = pack_padded_sequence(self.words(input_ids), lengths, batch_first=True)
        features, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=input_ids.shape[1])
        return self.head(features)


class Classifier(nn.Module):
    """Reads sentences of different lengths, in any order, and decides by the last states of two layers of GRUs."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn, self.head = nn.GRU(WIDTH, HIDDEN, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, input_ids, lengths):
        _, last = self.rnn(pack_padded_sequence(self.words(input_ids), lengths, batch_first=True, enforce_sorted=False))
        return self.head(torch.cat([last[-2], last[-1]], 1))


class Translator(nn.Module):
    """A GRU encoder and decoder with the attention of Luong et al. 2015 ("dot")."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder, self.decoder = nn.GRU(WIDTH, HIDDEN, batch_first=True), nn.GRU(WIDTH, HIDDEN, batch_first=True)
        self.mix, self.head = nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, input_ids, decoder_input_ids):
        memory, state = self.encoder(self.source(input_ids))
        h, _ = self.decoder(self.target(decoder_input_ids), state)
        weights = torch.softmax(h @ memory.transpose(1, 2), -1)
        return self.head(self.mix(torch.cat([weights @ memory, h], 2)).tanh())


class Recogniser(nn.Module):
    """Convolutions over a spectrogram [N, 1, bands, frames] and a bidirectional GRU; each frame gets classes (Amodei et al. 2015)."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, stride=(2, 1), padding=1), nn.BatchNorm2d(4)
        self.rnn, self.head = nn.GRU(4 * 4, HIDDEN, num_layers=2, batch_first=True, bidirectional=True), nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        features = nn.functional.hardtanh(self.norm(self.conv(x)), 0, 20)
        return self.head(self.rnn(features.flatten(1, 2).transpose(1, 2))[0])


GATES = {"RNN_TANH": [0], "RNN_RELU": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}  # torch's gates in the order of ONNX


def unpacked(module, packed):
    """Yields what a tensor W, R or B of an ONNX node may be in torch, as {name: its part}. The older exporter computes such tensors from the parameters of all directions of a layer."""
    for name, part in module.named_modules():
        suffixes = ("", "_reverse") if getattr(part, "bidirectional", False) else ("",)
        if not isinstance(part, nn.RNNBase) or len(packed) != len(suffixes):
            continue
        gates = GATES[part.mode]

        def ordered(rows, gates=gates):
            return torch.cat([rows.chunk(len(gates))[gate] for gate in gates]) if len(rows) % len(gates) == 0 else rows

        for layer in range(part.num_layers):
            ends = [f"_l{layer}{suffix}" for suffix in suffixes]
            if packed.dim() == 3:
                for kind in ("weight_ih", "weight_hh"):
                    yield {f"{name}.{kind}{end}": ordered(rows) for end, rows in zip(ends, packed)}
            elif packed.dim() == 2:
                yield {f"{name}.{kind}{end}": ordered(rows) for end, both in zip(ends, packed) for kind, rows in zip(("bias_ih", "bias_hh"), both.chunk(2))}


def _language_model(kind, **options):
    return lambda: Case(lambda: LanguageModel(kind, **options), {"input_ids": ids()}, ids(), tokens=True)


def tagger():
    return Case(Tagger, {"input_ids": ids(4), "lengths": torch.tensor([6, 4, 3, 1])}, torch.randint(0, CLASSES, (4, 6)), tokens=True)


def classifier():
    return Case(Classifier, {"input_ids": ids(4), "lengths": torch.tensor([3, 6, 1, 5])}, torch.randint(0, CLASSES, (4,)))


def translator():
    return Case(Translator, {"input_ids": ids(), "decoder_input_ids": ids(2, 5)}, ids(2, 5), tokens=True)


def recogniser():
    return Case(Recogniser, {"x": torch.randn(2, 1, 8, 7)}, torch.randint(0, CLASSES, (2, 7)), tokens=True)


NETWORKS = {"rnn_lm": _language_model(nn.RNN), "gru_lm": _language_model(nn.GRU), "lstm_lm": _language_model(nn.LSTM), "lstm_projected": _language_model(nn.LSTM, proj_size=5),
            "lstm_tagger": tagger, "gru_classifier": classifier, "gru_translator": translator, "gru_recogniser": recogniser}
