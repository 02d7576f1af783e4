"""Every kind of network: no dose is nothing, controls are controls, positions rotate."""

import numpy as np
import pytest
import transformers

from homogenization.interventions.conditions import CONSTANT, POSITIONS, STEERING, Condition
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.schedule import Reviews, apply
from homogenization.measures.blocks import norms_attention
from homogenization.statistics.doses import no_control
from plain_interventions import tiny_language_model
from tiny_models import _GROUPED, _SIZE, random_texts

_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_MIXED = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 12}
ARCHITECTURES = {
    "qwen3": transformers.Qwen3Config(**_GROUPED, head_dim=12),
    "smollm3": transformers.SmolLM3Config(**_GROUPED),
    "gemma3": transformers.Gemma3TextConfig(**_GROUPED, **_MIXED, head_dim=16, query_pre_attn_scalar=16),
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=12),
    "mixtral": transformers.MixtralConfig(**_GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": transformers.Qwen2MoeConfig(**_GROUPED, **_EXPERTS, shared_expert_intermediate_size=32),
    "phi": transformers.PhiConfig(**_SIZE),
    "olmo2": transformers.Olmo2Config(**_GROUPED, rms_norm_eps=1e-9),
}
N_TOKENS = 30


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_controls_are_controls(name):
    _, model = tiny_language_model(name, ARCHITECTURES[name])
    reviews = Reviews(model, name, ["a"], random_texts([N_TOKENS]), 0)
    untouched = reviews.through(0)()

    def moved(condition):
        """Relative change of the tokens after the last block."""
        changed = apply(condition, reviews, 0, untouched)
        return np.linalg.norm(changed.states[-1] - untouched.states[-1]) / np.linalg.norm(untouched.states[-1])

    for pattern in PATTERNS:
        nothing = apply(Condition(STEERING, pattern, 0.0), reviews, 0, untouched)
        assert all(np.array_equal(*layers) for layers in zip(nothing.states, untouched.states, strict=True)), pattern
    assert moved(Condition(POSITIONS, CONSTANT)) > 1e-2
    removed = moved(Condition(STEERING, "removed", 0.5))
    assert removed < 1e-3 if no_control("removed", norms_attention(model)) else removed > 1e-2
    assert all(
        moved(Condition(STEERING, pattern, 0.5)) > 1e-3 for pattern in ("first", "uniform", "scattered", "permuted")
    )
