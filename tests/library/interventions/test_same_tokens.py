"""Two runs are compared over the same tokens: `without_first` leaves out what is massive in either."""

import numpy as np
import polars as pl
import pytest

from homogenization.interventions.conditions import MASKED, STEERING, UNTOUCHED, Condition
from homogenization.interventions.intervened import intervene
from homogenization.interventions.readings import massive_tokens
from homogenization.interventions.schedule import Reviews, apply
from homogenization.metrics.cosines import mean_cosine
from homogenization.tables.intervened import by_layer, by_review
from plain_interventions import tiny_language_model
from tiny_blocks import NETWORKS
from tiny_models import random_texts

IDENTITY = {"model": "tiny", "variant": "original"}
CONDITIONS = [
    Condition(UNTOUCHED),
    Condition(STEERING, "first", 0.9),
    Condition(STEERING, "removed", 0.9),
    Condition(STEERING, "uniform", 1.0),
    Condition(MASKED, "first"),
]
NAMES, LENGTHS = ["a", "b"], [40, 29]


def with_massive_tokens(name):
    """A tiny model whose reviews hold a token just below, and one just above, ten times the median norm at most.

    Whatever attention does to their lengths, one of them crosses the bound.
    """
    _, model = tiny_language_model(name, NETWORKS[name])
    embedded = model.network.get_input_embeddings().weight.detach()
    tokens = {"a": 299, "b": 298}
    texts = [
        np.array([*text[:5], token, *text[6:]])
        for text, token in zip(random_texts(LENGTHS), tokens.values(), strict=True)
    ]
    reviews = Reviews(model, name, NAMES, texts, 0)
    for place, token in enumerate(tokens.values()):
        own, through = embedded[token].clone(), reviews.through(place)
        least, most = 1.0, 1000.0
        for _ in range(24):
            factor = (least * most) ** 0.5
            embedded[token] = factor * own
            least, most = (least, factor) if 5 in through().massive else (factor, most)
        embedded[token] = (least, most)[place] * own
    return reviews


@pytest.mark.parametrize("name", ["llama", "gemma3", "gemma2", "qwen2"])
def test_both_sides_of_a_difference_have_the_same_tokens(name):
    reviews = with_massive_tokens(name)
    made = [intervene(reviews, condition, ["cosine_anisotropy"], IDENTITY) for condition in CONDITIONS]
    table, doses = (pl.concat(getattr(one, name) for one in made) for name in ("metrics", "doses"))
    n_differ = 0
    for condition in CONDITIONS:
        for place, review in enumerate(NAMES):
            untouched = reviews.through(place)()
            before, after = untouched.states, apply(condition, reviews, place, untouched).states
            either = massive_tokens(before) | massive_tokens(after)
            n_differ += massive_tokens(before) != massive_tokens(after)
            left = sorted(set(range(LENGTHS[place])) - {0} - either)
            rows = table.filter(condition=condition.name, review_id=review, view="without_first").sort("layer")
            for column, states in (("value", after), ("untouched", before)):
                expected = [mean_cosine(tokens[left].astype(np.float64)) for tokens in states]
                np.testing.assert_allclose(rows[column], expected, rtol=1e-6, atol=1e-9)
    assert n_differ >= 2, "in some condition, other tokens are massive"
    at_start = table.filter(layer=0, view="without_first")
    assert at_start["value"].equals(at_start["untouched"]), "no attention has changed before the first block"
    alone = table.filter(condition="untouched")
    assert alone["value"].equals(alone["untouched"])
    others = table.filter(pl.col("view") != "without_first").join(
        alone.select("review_id", "layer", "view", own="value"), on=("review_id", "layer", "view")
    )
    assert others["untouched"].equals(others["own"]), "other views have all tokens in every run"

    changes, layers = by_review(table, doses), by_layer(table, doses)
    for pattern in ("first", "removed"):
        rows = table.filter(condition=f"steering-{pattern}-0.9-all", view="without_first")
        difference = (rows["value"] - rows["untouched"]).mean()
        of_reviews = changes.filter(pattern=pattern, kind="steering", layers="all", view="without_first")
        assert (of_reviews["value"] - of_reviews["untouched"]).mean() == pytest.approx(difference)
        assert layers.filter(pattern=pattern, kind="steering", view="without_first")["mean"].mean() == pytest.approx(
            difference
        )
