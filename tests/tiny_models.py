"""Tiny networks with random weights, one of each supported architecture, and what transformers says about them."""

import copy
from types import SimpleNamespace

import numpy as np
import torch
import transformers

from homogenization.models.network import LanguageModel

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
_HEADS_OF_16 = _GROUPED | {"head_dim": 16}
_WINDOWED = _GROUPED | {"sliding_window": WINDOW}
_GPT2_NAMES = {"n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 512, "vocab_size": VOCABULARY}

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
    "gpt2": transformers.GPT2Config(**_GPT2_NAMES, bos_token_id=1, eos_token_id=2),
    "gpt_neox": transformers.GPTNeoXConfig(**_SIZE),
    "gpt_neox_sequential": transformers.GPTNeoXConfig(**_SIZE, use_parallel_residual=False),
    "bert": transformers.BertConfig(**_SIZE),
}
BIDIRECTIONAL = {"bert", "roberta", "xlm-roberta", "camembert", "deberta-v2", "distilbert", "electra", "ernie"}
BIDIRECTIONAL |= {"eurobert", "layoutlm", "modernbert", "mpnet", "nomic_bert"}
# that have no language-model head
HEADLESS = BIDIRECTIONAL | {"clip_text_model"}

_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_LATENT = _SIZE | {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 12,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
}


def configurations(names: str, fields: dict) -> dict[str, transformers.PreTrainedConfig]:
    """Configurations of these kinds with the same fields, by the types of models."""
    kinds = (getattr(transformers, f"{name}Config") for name in names.split())
    return {kind.model_type: kind(**fields) for kind in kinds}


# texts begin at position 4, behind that of padding
BEHIND_PADDING = configurations("Roberta XLMRoberta Camembert", _SIZE | {"pad_token_id": 3})
# read as well
FURTHER = BEHIND_PADDING | {
    "deepseek_v2": transformers.DeepseekV2Config(**_LATENT),
    "deepseek_v3": transformers.DeepseekV3Config(**_LATENT, n_group=1, topk_group=1),
    "distilbert": transformers.DistilBertConfig(
        dim=48, hidden_dim=80, n_layers=3, n_heads=4, vocab_size=VOCABULARY, max_position_embeddings=512
    ),
    "electra": transformers.ElectraConfig(**_SIZE, embedding_size=32),
    "gemma3_text": transformers.Gemma3TextConfig(**_HEADS_OF_16, query_pre_attn_scalar=16, sliding_window=WINDOW),
    "gpt_bigcode": transformers.GPTBigCodeConfig(**_GPT2_NAMES, bos_token_id=1, eos_token_id=2),
    "gpt_oss": transformers.GptOssConfig(**_HEADS_OF_16 | _WINDOWED, num_local_experts=2, num_experts_per_tok=1),
    "helium": transformers.HeliumConfig(**_GROUPED, head_dim=12),
    "llama4_text": transformers.Llama4TextConfig(
        **_HEADS_OF_16, attention_chunk_size=WINDOW, intermediate_size_mlp=80, num_local_experts=2
    ),
    "mixtral": transformers.MixtralConfig(**_GROUPED, num_local_experts=3),
    "modernbert": transformers.ModernBertConfig(
        **_SIZE | {"intermediate_size": 64}, local_attention=WINDOW, cls_token_id=1, sep_token_id=2
    ),
    "olmoe": transformers.OlmoeConfig(**_SIZE, num_experts=3, num_experts_per_tok=2),
    "opt": transformers.OPTConfig(
        **{name: value for name, value in _SIZE.items() if name != "intermediate_size"},
        ffn_dim=80,
        word_embed_proj_dim=48,
    ),
    "qwen3_moe": transformers.Qwen3MoeConfig(**_HEADS_OF_16, **_EXPERTS),
    "smollm3": transformers.SmolLM3Config(**_GROUPED, no_rope_layer_interval=2),
    "stablelm": transformers.StableLmConfig(**_GROUPED | {"hidden_size": 64}),
}
FURTHER |= configurations("Apertus Arcee BitNet Cohere Ernie4_5 EuroBert Granite Nemotron Olmo Olmo2", _GROUPED)
FURTHER |= configurations("BioGpt CLIPText Ernie LayoutLM NomicBert Persimmon Phi", _SIZE)
FURTHER |= configurations("Cohere2 Exaone4 Mistral Olmo3 Phi3 Phimoe Starcoder2", _WINDOWED)
FURTHER |= configurations("Glm Glm4 HunYuanDenseV1 Qwen3 SeedOss", _HEADS_OF_16)


# whose attention does not go through transformers' AttentionInterface: their states are read
WITHOUT_INTERFACE = {
    "bloom": transformers.BloomConfig(hidden_size=48, n_layer=3, n_head=4, vocab_size=VOCABULARY),
    "codegen": transformers.CodeGenConfig(**_GPT2_NAMES, rotary_dim=4),
    "deberta-v2": transformers.DebertaV2Config(**_SIZE),
    "falcon": transformers.FalconConfig(
        hidden_size=48, num_hidden_layers=3, num_attention_heads=4, vocab_size=VOCABULARY
    ),
    "gptj": transformers.GPTJConfig(**_GPT2_NAMES, rotary_dim=4),
    "mpnet": transformers.MPNetConfig(**_SIZE),
    "mpt": transformers.MptConfig(d_model=48, n_layers=3, n_heads=4, vocab_size=VOCABULARY),
}
# whose blocks do not pass on one residual stream, each once
REFUSED = {
    "AlbertModel": transformers.AlbertConfig(**_SIZE),
    "CLIPModel": transformers.CLIPConfig(
        text_config=_SIZE, vision_config={**_SIZE, "image_size": 32, "patch_size": 16}, projection_dim=16
    ),
    "T5Model": transformers.T5Config(d_model=48, d_kv=12, d_ff=80, num_layers=3, num_heads=4, vocab_size=VOCABULARY),
    "XLNetModel": transformers.XLNetConfig(d_model=48, n_layer=3, n_head=4, d_inner=80, vocab_size=VOCABULARY),
}


def beginning(tokenizer: transformers.PreTrainedTokenizerBase, text: str, n_tokens: int) -> str:
    """The shortest beginning of `text` with this number of tokens."""
    return next(text[:end] for end in range(len(text)) if len(tokenizer(text[:end])["input_ids"]) == n_tokens)


def network(
    config: transformers.PreTrainedConfig, dtype: torch.dtype = torch.float32, head: bool = False
) -> transformers.PreTrainedModel:
    """A network of this configuration, the same in each call, with attention far from flat; `head`: of a language."""
    torch.manual_seed(0)
    kind = transformers.AutoModelForCausalLM if head else transformers.AutoModel
    made = kind.from_config(copy.deepcopy(config), dtype=dtype).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    return made


def language_model(
    name: str, config: transformers.PreTrainedConfig, dtype: torch.dtype = torch.float32
) -> LanguageModel:
    """The same as the library has it, without a tokenizer, and with a head where there is one."""
    return LanguageModel(network(config, dtype, head=name not in HEADLESS), None, 512, "default", {})


def reference(made: transformers.PreTrainedModel, token_ids: list[int]) -> SimpleNamespace:
    """One text by itself through transformers' eager attention: float32 (tokens, width), (blocks, heads, n, n)."""
    before = made.config._attn_implementation
    made.config.tie_last_hidden_states = False
    made.set_attn_implementation("eager")
    with torch.inference_mode():
        output = made(torch.tensor([token_ids]), output_hidden_states=True, output_attentions=True, use_cache=False)
    made.set_attn_implementation(before)
    assert len(output.attentions) == made.config.num_hidden_layers
    return SimpleNamespace(
        residual_stream=[states[0].float().numpy() for states in output.hidden_states],
        last_hidden_state=output.last_hidden_state[0].float().numpy(),
        attention=np.stack([weights[0].float().numpy() for weights in output.attentions]),
    )


def random_texts(lengths: list[int]) -> list[list[int]]:
    """Token ids of texts of these lengths."""
    rng = np.random.default_rng(0)
    return [rng.integers(3, VOCABULARY, length).tolist() for length in lengths]
