# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small forms of networks that people train, with the inputs and the loss of one step.

Depths and widths are small so that a step takes milliseconds; the code is torchvision's and transformers' own. Initial values are the libraries' (equal norms and zero biases are what
exporters merge and drop), except where those make all gradients zero. Dropout and stochastic depth have probability 0, so that a step is a function on which two programs can agree.
"""
import torch

import recurrent
import sharing
from cases import CLASSES, VOCABULARY, Case, classes, ids, image


def resnet18():
    from torchvision.models import resnet18
    return Case(lambda: resnet18(num_classes=CLASSES), image(4, 32), classes(4))


def mobilenet():
    from torchvision.models import mobilenet_v3_small
    return Case(lambda: mobilenet_v3_small(num_classes=CLASSES, dropout=0.0), image(4, 64), classes(4))


def shufflenet():
    from torchvision.models import shufflenet_v2_x0_5
    return Case(lambda: shufflenet_v2_x0_5(num_classes=CLASSES), image(4, 64), classes(4))


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    blocks = [CNBlockConfig(16, 32, 1), CNBlockConfig(32, 64, 2), CNBlockConfig(64, None, 1)]
    return Case(lambda: ConvNeXt(blocks, stochastic_depth_prob=0.0, num_classes=CLASSES), image(2, 32), classes(2))


def swin():
    from torchvision.models.swin_transformer import SwinTransformer
    return Case(lambda: SwinTransformer([2, 2], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=CLASSES), image(2, 16), classes(2))


def vit():
    from torchvision.models import VisionTransformer

    def make():
        module = VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=CLASSES)
        torch.nn.init.normal_(module.heads.head.weight, std=0.1)  # zeros would make all other gradients zero
        return module
    return Case(make, image(2, 32), classes(2))


def bert(dropout=0.0):
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16,
                        num_labels=CLASSES, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    return Case(lambda: BertForSequenceClassification(config), {"input_ids": ids()}, classes(2))


def distilbert():
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    config = DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=16, num_labels=CLASSES, dropout=0.0,
                              attention_dropout=0.0, seq_classif_dropout=0.0)
    return Case(lambda: DistilBertForSequenceClassification(config), {"input_ids": ids()}, classes(2))


def language_model(make, own_loss, extra=None):
    """Makes a network of tokens to tokens, either with the loss of transformers inside, or with logits [B,T,V] and labels [B,T] for mpc."""
    words = ids()
    if own_loss:
        return Case(make, {"input_ids": words, **(extra or {}), "labels": ids()}, outputs=("loss", "logits"))
    return Case(make, {"input_ids": words, **(extra or {})}, ids(), tokens=True)


def gpt2(own_loss=True):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=32, n_layer=2, n_head=2, use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        bos_token_id=1, eos_token_id=2)
    return language_model(lambda: GPT2LMHeadModel(config), own_loss)


def llama(own_loss=True):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=16, use_cache=False)
    return language_model(lambda: LlamaForCausalLM(config), own_loss)


def qwen2(own_loss=True):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    config = Qwen2Config(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=16, use_cache=False, tie_word_embeddings=True)
    return language_model(lambda: Qwen2ForCausalLM(config), own_loss)


def t5(own_loss=True):
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0, use_cache=False, decoder_start_token_id=0,
                      attn_implementation="eager")  # torch 2.15 cannot decompose the other implementation: "Cannot view a tensor with shape"
    return language_model(lambda: T5ForConditionalGeneration(config), own_loss, {"decoder_input_ids": ids()})


def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForSequenceClassification
    config = Wav2Vec2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
                            num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, num_labels=CLASSES, classifier_proj_size=16,
                            hidden_dropout=0.0, activation_dropout=0.0, attention_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0,
                            apply_spec_augment=False)
    return Case(lambda: Wav2Vec2ForSequenceClassification(config), {"input_values": torch.randn(2, 400)}, classes(2))


NETWORKS = {make.__name__: make for make in (resnet18, mobilenet, shufflenet, convnext, swin, vit, gpt2, bert, distilbert, llama, qwen2, wav2vec2, t5)} | sharing.NETWORKS | recurrent.NETWORKS
LANGUAGE_MODELS = ("gpt2", "llama", "qwen2", "t5")


def case(name, own_loss=True, seed=1):
    """Returns the case of a name and its module in train mode, initialised from one seed."""
    torch.manual_seed(seed)
    found = NETWORKS[name](own_loss) if name in LANGUAGE_MODELS else NETWORKS[name]()
    return found, found.make().train()
