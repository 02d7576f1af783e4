"""Networks whose blocks are taken apart, and what their modules are called."""

import torch
import transformers
from transformers import PreTrainedTokenizerFast

from extracted import trained_tokenizer
from tiny_models import _GROUPED, CONFIGS

NETWORKS = CONFIGS | {
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=None),
    "gemma3": transformers.Gemma3TextConfig(**_GROUPED, head_dim=16, query_pre_attn_scalar=16, sliding_window=32),
}
POST_NORM = {"gemma2", "gemma3"}
MODULES = {  # norm 1, attention, norm 2, feed-forward; what comes out of each is written down by a test's own hooks
    "GPT2Model": ("ln_1", "attn", "ln_2", "mlp"),
    "GPTNeoXModel": ("input_layernorm", "attention", "post_attention_layernorm", "mlp"),
    "BertModel": ("attention.output.LayerNorm", "attention.output.dense", "output.LayerNorm", "output.dense"),
}
LLAMA = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
SANDWICH = ("input_layernorm", "self_attn", "pre_feedforward_layernorm", "mlp")
BEHIND = ("post_attention_layernorm", "post_feedforward_layernorm")  # norms behind attention and feed-forward network


def saved(folder, name, head=True, **fields):
    """Save a tiny network of `CONFIGS`, with other `fields`, and its tokenizer; returns the entry of `models`."""
    torch.manual_seed(0)
    config = type(CONFIGS[name])(**{**CONFIGS[name].to_dict(), **fields})
    auto = transformers.AutoModelForCausalLM if head else transformers.AutoModel
    auto.from_config(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>").save_pretrained(folder)
    return {"weights": {"path": str(folder)}, "dtype": "float32", "device": "cpu", "bos": "default"}
