"""What slopes hold at once, counted tensor by tensor on the meta device at the true sizes of models of 7 to 8B."""

import math
from unittest.mock import patch

import numpy as np
import pytest
import torch
import transformers

from described import GEMMA_7B, LLAMA_3_8B
from fake_cuda import forget_uploads
from held_bytes import Held
from homogenization.interventions import attribution, recorded, slopes
from homogenization.interventions.conditions import cells
from homogenization.measures.blocks import find_layout
from homogenization.plan.architecture import describe_architecture
from homogenization.plan.costs import slopes_bytes
from homogenization.states.network import packed_model

GIB = 2**30
METRICS = ["cosine_anisotropy", "cosine_to_first_token"]  # what others hold beside these is n x n
PATTERNS = ["first", "permuted"]


def test_the_count_is_what_lives():
    held = Held()
    with held:
        whole = torch.zeros(100, dtype=torch.float64)
        part = whole[:50]
        assert (held.now, held.most) == (800, 800)
        more = part + 1
        del whole, part
        assert (held.now, held.most) == (400, 1200)
        more.add_(1)
        assert held.now == 400


def most_held(config, n_blocks, n_tokens):
    """The most bytes that live at once in slopes of a review and in what patterns deliver."""
    forget_uploads()  # what another count has left would not be counted again
    fields = {**config.to_dict(), "num_hidden_layers": n_blocks}
    held, nothing = Held(), lambda numbers: np.zeros(numbers.shape)
    patches = [
        patch.object(recorded, "_massive", lambda layers: frozenset()),
        patch.object(slopes, "on_host", nothing),
        patch.object(attribution, "on_host", nothing),
        patch.object(attribution, "added_to", lambda *rows: (0, 0, 0)),
    ]
    with torch.device("meta"), held, patches[0], patches[1], patches[2], patches[3]:
        made = transformers.AutoModelForCausalLM.from_config(type(config)(**fields), dtype=torch.bfloat16)
        for tensor in (*made.parameters(), *made.buffers()):
            held.hold(tensor.data)
        held.most = held.now
        model = recorded.in_float64(packed_model(made.base_model))
        of_review = recorded.record(model, [5] * n_tokens, find_layout(model))
        slopes.slopes_of_review(of_review, b"r", PATTERNS, METRICS)
        attribution.attribution_of_review(of_review, b"r", PATTERNS)
    return held.most


@pytest.mark.parametrize("config", [LLAMA_3_8B, GEMMA_7B], ids=["llama-3-8b", "gemma-7b"])
def test_slopes_of_1024_tokens_fit_and_the_plan_says_so(config, tmp_path):
    """A further block adds its weights and a layer of the stream, so two and three blocks tell of all."""
    n_tokens = 1024
    two, three = (most_held(config, n_blocks, n_tokens) for n_blocks in (2, 3))
    most = two + (config.num_hidden_layers - 2) * (three - two)
    config.save_pretrained(tmp_path)
    architecture = describe_architecture(tmp_path)
    block = (architecture.n_parameters - architecture.n_logits) / architecture.n_blocks
    assert math.isclose(three - two, 2 * block + 8 * n_tokens * architecture.width, rel_tol=1e-3)
    planned = slopes_bytes(architecture, "bfloat16", n_tokens, len(cells(METRICS)))
    assert most < planned < 1.1 * most
    assert planned < 28 * GIB
