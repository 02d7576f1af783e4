"""The calibrated template: estimated on the other half of the reviews, of either sign, with its placebo."""

import numpy as np
import polars as pl
import pytest
import torch

from homogenization.interventions.conditions import TEMPLATE, UNTOUCHED, Condition
from homogenization.interventions.intervened import intervene
from homogenization.interventions.schedule import Pack
from homogenization.interventions.shard import templates_of_reviews
from homogenization.measures.positional import PositionalSums, template_of
from homogenization.measures.positional_pass import add_attention
from homogenization.models.tokens import tokenize
from homogenization.states.attention import AttentionMap
from homogenization.states.network import run_packed
from tiny_blocks import EMBEDDED, tiny
from tiny_models import CONFIGS

IDENTITY = {"model": "tiny", "variant": "original"}
NAMES = [f"r{number}" for number in range(4)]


def read_with_sums(model):
    """Four reviews as the model reads them, and the sums of their attention by position, as a table."""
    texts = [text[:250] for text in EMBEDDED[:4]]
    tokens = tokenize(model.tokenizer, NAMES, texts, "default")
    sums = PositionalSums()

    def through(attention: AttentionMap) -> torch.Tensor:
        add_attention(sums, attention, attention.review)
        return attention.weights

    run_packed(model.packed, tokens.token_ids, tokens.lengths.tolist(), False, lambda *_: None, through=through)
    return tokens, sums.table(IDENTITY)


def test_a_review_is_changed_by_the_template_of_the_other_half():
    model = tiny(CONFIGS["llama"])
    tokens, table = read_with_sums(model)
    sums = PositionalSums.of_table(table)
    for rank, template in enumerate(templates_of_reviews(table, range(4))):
        n_tokens = int(tokens.lengths[rank])
        assert np.array_equal(template(1, n_tokens, None), template_of(sums, 2, n_tokens, 1 - rank % 2))
        assert not np.allclose(template(1, n_tokens, None), template_of(sums, 2, n_tokens, rank % 2))


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "bert"])
def test_templates_of_both_signs_move_as_much_and_no_strength_moves_nothing(name):
    model = tiny(CONFIGS[name], max_tokens=400)
    tokens, table = read_with_sums(model)
    reviews = Pack(model.with_head, "tiny", NAMES, tokens.by_review, 0, templates_of_reviews(table, range(4)))
    kinds = ("template", "permuted_template")
    conditions = [Condition(UNTOUCHED), *(Condition(TEMPLATE, kind, s) for kind in kinds for s in (-0.5, 0.0, 0.5))]
    metrics, doses = intervene(reviews, conditions, ["cosine_anisotropy"], IDENTITY, 2048)
    assert metrics["value"].is_finite().all()
    moved = dict(doses.group_by("condition").agg(pl.col("moved_mass").mean()).rows())
    for kind in kinds:
        assert moved[f"template:{kind}:0"] == pytest.approx(0, abs=1e-6)
        assert moved[f"template:{kind}:0.5"] > 0.001
        assert moved[f"template:{kind}:-0.5"] == pytest.approx(moved[f"template:{kind}:0.5"], rel=0.5)
