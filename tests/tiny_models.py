"""Tiny networks with random weights, one of each supported architecture, and what transformers says about them."""

import copy
from dataclasses import dataclass

import numpy as np
import torch
import transformers

VOCABULARY = 300
WINDOW = 32
_SIZE = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GROUPED = _SIZE | {"num_key_value_heads": 2}

CONFIGS = {
    "llama": transformers.LlamaConfig(**_GROUPED),
    "gemma": transformers.GemmaConfig(**_GROUPED, head_dim=16),
    # a cap that bends the scores, and a window shorter than the texts
    "gemma2": transformers.Gemma2Config(
        **_GROUPED, head_dim=16, query_pre_attn_scalar=16, sliding_window=WINDOW, attn_logit_softcapping=2.0
    ),
    "qwen2": transformers.Qwen2Config(**_GROUPED),
    "qwen2_sliding": transformers.Qwen2Config(
        **_GROUPED, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1
    ),
    "gpt2": transformers.GPT2Config(
        n_embd=48, n_layer=3, n_head=4, n_positions=512, vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=2
    ),
    "gpt_neox": transformers.GPTNeoXConfig(**_SIZE),
    "gpt_neox_sequential": transformers.GPTNeoXConfig(**_SIZE, use_parallel_residual=False),
    "bert": transformers.BertConfig(**_SIZE),
}
BIDIRECTIONAL = {"bert"}
# texts begin at position 4, behind that of padding
BEHIND_PADDING = {
    kind.model_type: kind(**_SIZE | {"pad_token_id": 3})
    for kind in (transformers.RobertaConfig, transformers.XLMRobertaConfig, transformers.CamembertConfig)
}

REFUSED = {
    "XLNetModel": transformers.XLNetConfig(d_model=48, n_layer=3, n_head=4, d_inner=80, vocab_size=VOCABULARY),
    "CodeGenModel": transformers.CodeGenConfig(
        n_embd=48, n_layer=3, n_head=4, n_positions=512, rotary_dim=4, vocab_size=VOCABULARY
    ),
    "RwkvModel": transformers.RwkvConfig(hidden_size=48, num_hidden_layers=3, vocab_size=VOCABULARY),
    "XmodModel": transformers.XmodConfig(**_SIZE),
    "MPNetModel": transformers.MPNetConfig(**_SIZE),
    "LongformerModel": transformers.LongformerConfig(**_SIZE, attention_window=[8, 8, 8]),
    "CLIPModel": transformers.CLIPConfig(
        text_config=_SIZE, vision_config={**_SIZE, "image_size": 32, "patch_size": 16}, projection_dim=16
    ),
    "BloomModel": transformers.BloomConfig(hidden_size=48, n_layer=3, n_head=4, vocab_size=VOCABULARY),
    "MptModel": transformers.MptConfig(d_model=48, n_layers=3, n_heads=4, vocab_size=VOCABULARY),
    "T5Model": transformers.T5Config(d_model=48, d_kv=12, d_ff=80, num_layers=3, num_heads=4, vocab_size=VOCABULARY),
    "GptOssModel": transformers.GptOssConfig(
        **_GROUPED, head_dim=16, num_local_experts=2, num_experts_per_tok=1, sliding_window=WINDOW
    ),
    "FalconModel": transformers.FalconConfig(
        hidden_size=48, num_hidden_layers=3, num_attention_heads=4, vocab_size=VOCABULARY, alibi=True
    ),
    "Llama4TextModel": transformers.Llama4TextConfig(
        **_GROUPED, head_dim=16, attention_chunk_size=WINDOW, intermediate_size_mlp=80, num_local_experts=2
    ),
    "AlbertModel": transformers.AlbertConfig(**_SIZE),
    "MambaModel": transformers.MambaConfig(hidden_size=48, num_hidden_layers=3, vocab_size=VOCABULARY),
}


def beginning(tokenizer: transformers.PreTrainedTokenizerBase, text: str, n_tokens: int) -> str:
    """The shortest beginning of `text` with this number of tokens."""
    return next(text[:end] for end in range(len(text)) if len(tokenizer(text[:end])["input_ids"]) == n_tokens)


@dataclass(frozen=True)
class Reference:
    """One text by itself through transformers' eager attention: float32 (tokens, width), (blocks, heads, n, n)."""

    residual_stream: list[np.ndarray]
    last_hidden_state: np.ndarray
    attention: np.ndarray


def network(config: transformers.PreTrainedConfig, dtype: torch.dtype = torch.float32) -> transformers.PreTrainedModel:
    """A network of this configuration, the same in each call, with attention far from flat."""
    torch.manual_seed(0)
    made = transformers.AutoModel.from_config(copy.deepcopy(config), dtype=dtype).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    return made


def reference(made: transformers.PreTrainedModel, token_ids: list[int]) -> Reference:
    """What transformers gives for one text, read where its own `output_hidden_states` reads it."""
    before = made.config._attn_implementation
    made.config.tie_last_hidden_states = False
    made.set_attn_implementation("eager")
    with torch.inference_mode():
        output = made(torch.tensor([token_ids]), output_hidden_states=True, output_attentions=True, use_cache=False)
    made.set_attn_implementation(before)
    assert len(output.attentions) == made.config.num_hidden_layers
    return Reference(
        [states[0].float().numpy() for states in output.hidden_states],
        output.last_hidden_state[0].float().numpy(),
        np.stack([weights[0].float().numpy() for weights in output.attentions]),
    )


def random_texts(lengths: list[int], seed: int = 0) -> list[list[int]]:
    """Token ids of texts of these lengths."""
    rng = np.random.default_rng(seed)
    return [rng.integers(3, VOCABULARY, length).tolist() for length in lengths]
