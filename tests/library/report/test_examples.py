"""Which reviews a page shows: against an independent sort, with ties, few reviews, one variant, no metric."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.report.examples import chosen_reviews
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from measured import wide_of

IDS = [f"r{number}" for number in range(8)]
CHOICE = {"variant": "front", "minus": "original", "metric": "effective_rank", "view": "raw"}


def metrics_of(values):
    """The table metrics of variant -> review -> value after the last of two blocks; elsewhere, other orders."""
    rows = []
    for variant, of_reviews in values.items():
        for review, value in of_reviews.items():
            keys = ("tiny", variant, review)
            rows += [
                (*keys, "residual_stream", 2, 1.0, "raw", "effective_rank", value),
                (*keys, "residual_stream", 1, 0.5, "raw", "effective_rank", -value),
                (*keys, "final_norm", 2, 1.0, "raw", "effective_rank", -2 * value),
                (*keys, "residual_stream", 2, 1.0, "unit", "effective_rank", -3 * value),
                (*keys, "residual_stream", 2, 1.0, "raw", "participation_ratio", -4 * value),
                ("other", *keys[1:], "residual_stream", 2, 1.0, "raw", "effective_rank", -5 * value),
            ]
    wide = wide_of(pl.DataFrame(rows, schema=VALUES_SCHEMA, orient="row"))
    return wide.filter(model="tiny", point="residual_stream")


def similarity_of(changed):
    """The table similarity of accepted reviews: review -> whether its text differs from the original."""
    rows = [{"variant": "front", "review_id": name, "accepted": True, "changed": of} for name, of in changed.items()]
    return pl.concat([pl.DataFrame(schema=SIMILARITY_SCHEMA), pl.DataFrame(rows)], how="diagonal_relaxed")


values = st.dictionaries(st.sampled_from(IDS), st.integers(-2, 2).map(float) | st.just(math.nan))


@given(values, values, st.lists(st.booleans(), min_size=8, max_size=8))
def test_the_extremes_and_the_median_by_an_independent_sort(front, original, changed):
    differs = dict(zip(IDS, changed, strict=True))
    chosen = chosen_reviews(metrics_of({"front": front, "original": original}), similarity_of(differs), IDS, **CHOICE)
    finite = {name: value for name, value in original.items() if math.isfinite(value)}
    pairs = {
        name: front[name] - finite[name]
        for name in finite
        if differs[name] and math.isfinite(front.get(name, math.nan))
    }
    ranked = sorted((value, name) for name, value in (pairs or finite).items())
    if not ranked:
        assert chosen == [(name, "among the first") for name in IDS[:3]]
        return
    assert chosen[0][0] == ranked[0][1]
    assert chosen[-1][0] == ranked[-1][1]
    assert len(chosen) == len(dict(chosen)) == min(3, len(ranked))
    if len(ranked) > 2:
        name, which = chosen[1]
        assert which == "median"
        assert [of for _, of in ranked].index(name) in ((len(ranked) - 1) // 2, len(ranked) // 2)


def test_equal_differences_are_in_the_order_of_the_ids():
    same = dict.fromkeys(reversed(IDS), 1.0)
    metrics = metrics_of({"front": same, "original": same})
    chosen = chosen_reviews(metrics, similarity_of(dict.fromkeys(IDS, True)), IDS, **CHOICE)
    assert chosen == [("r0", "least"), ("r3", "median"), ("r7", "greatest")]


@pytest.mark.parametrize(("n", "roles"), [(1, ["median"]), (2, ["least", "greatest"])])
def test_few_reviews(n, roles):
    of = {name: float(number) for number, name in enumerate(IDS[:n])}
    metrics = metrics_of({"front": {name: 2 * value for name, value in of.items()}, "original": of})
    chosen = chosen_reviews(metrics, similarity_of(dict.fromkeys(IDS, True)), IDS, **CHOICE)
    assert chosen == list(zip(of, roles, strict=True))


def test_a_study_of_originals_alone_takes_their_values():
    metrics = metrics_of({"original": {"r0": 3.0, "r1": 1.0, "r2": 2.0, "r3": 0.0}})
    chosen = chosen_reviews(metrics, similarity_of({}), IDS, **CHOICE | {"variant": None, "minus": None})
    assert chosen == [("r3", "least"), ("r1", "median"), ("r0", "greatest")]


def test_a_study_without_a_metric_takes_the_first_reviews():
    chosen = chosen_reviews(metrics_of({}), similarity_of({}), IDS, **CHOICE | {"metric": None})
    assert chosen == [(name, "among the first") for name in IDS[:3]]
