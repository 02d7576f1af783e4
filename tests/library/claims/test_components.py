"""Estimates of components, against plain numpy."""

import numpy as np
import polars as pl
import pytest

from homogenization.claims.components import component_estimates
from homogenization.claims.judgement import tabulate
from homogenization.config.claims import Claim
from homogenization.statistics.estimate import Settings

N_REVIEWS, N_BLOCKS = 20, 3
NAMES = ("attention", "attention_addition", "feed_forward", "feed_forward_addition", "norm_1", "norm_2")
SETTINGS = Settings(draws=100)


@pytest.fixture(scope="module")
def changes():
    """(component, review, block) changes: attention moves most, and down."""
    drawn = np.random.default_rng(0).normal(size=(len(NAMES), N_REVIEWS, N_BLOCKS)) / 50
    return drawn + np.array([-0.5, 0.1, -0.2, 0.2, 0.05, 0.05])[:, None, None]


@pytest.fixture(scope="module")
def components(changes):
    keys = {"model": "m", "variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy"}
    places = [index.ravel() for index in np.indices(changes.shape)]
    return pl.DataFrame(
        {
            "component": np.array(NAMES)[places[0]],
            "review_id": [f"r{number:02d}" for number in places[1]],
            "layer": places[2] + 1,
            "change": changes.ravel(),
        }
    ).with_columns(pl.lit(value).alias(name) for name, value in keys.items())


def test_changes_are_summed_by_kind_and_the_lead_is_that_over_the_largest_other(changes, components):
    attention, added, forward, added_later, norm, norm_later = changes
    residual, norms = added + added_later, norm + norm_later
    size = {name: np.abs(of).mean() for name, of in (("r", residual), ("a", attention), ("f", forward))}
    expected = {
        "attention": attention.mean(),
        "residual": residual.mean(),
        "norm": norms.mean(),
        "attention − others": size["a"] - max(size["r"], size["f"]),
        "residual, attention − others": min(size["r"], size["a"]) - size["f"],
    }
    found = component_estimates(components, list(expected), SETTINGS)
    assert found["component"].to_list() == list(expected)
    np.testing.assert_allclose(found["mean"], list(expected.values()), rtol=1e-12)
    assert (found["n_reviews"] == N_REVIEWS).all()


def test_a_claim_on_components_is_judged_by_them_and_one_on_a_component_that_is_not_there_is_not(components):
    cell = {"metric": "cosine_anisotropy", "view": "all_tokens"}
    told = {"claim": "so", "statement": "So it is.", "source": "someone"}
    down = Claim.model_validate(told | {"component": cell | {"change": "attention"}, "below": 0}).rows()
    most = Claim.model_validate(
        told | {"component": cell | {"largest": ["attention", "feed_forward"]}, "above": 0}
    ).rows()
    rows, resampling = [*down, *({**row, "claim": "most"} for row in most)], {"draws": 100, "seed": 0}
    found = tabulate(rows, ["m"], resampling, components=components)
    named = ["attention", "attention, feed_forward − others"]
    # additions move more than the feed-forward network
    assert found.select("compared", "verdict").rows() == list(zip(named, ["yes", "no"], strict=True))
    parallel = components.filter(pl.col("component") != "feed_forward")
    assert tabulate(rows, ["m"], resampling, components=parallel)["verdict"].to_list() == ["yes", "not tested"]
