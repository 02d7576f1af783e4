"""Which reviews a page shows: against an independent sort, with ties, few reviews, one variant, no metric."""

import math

from hypothesis import given
from hypothesis import strategies as st

from examples import example_table
from homogenization.report.examples import chosen_reviews
from homogenization.tables.metrics import METRICS_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA

IDS = [f"r{number}" for number in range(8)]
CHOICE = {"variant": "front", "minus": "original", "metric": "effective_rank", "view": "raw"}


def chosen(values, changed=(True,) * 8, **choice):
    """What is chosen by variant -> review -> value after the last block; elsewhere, values have other orders."""
    rows = [(variant, review, value) for variant, of in values.items() for review, value in of.items()]
    rows = [(*row, layer, view, factor) for row in rows for layer, view, factor in ((2, "raw", 1), (1, "raw", -1))]
    rows += [(*row[:3], 2, "unit", -3) for row in rows]
    variants, reviews, numbers, layers, views, factors = zip(*rows, strict=True) if rows else [[]] * 6
    numbers = [number * factor for number, factor in zip(numbers, factors, strict=True)]
    named = {"variant": variants, "review_id": reviews, "layer": layers, "view": views, "effective_rank": numbers}
    metrics = example_table(METRICS_SCHEMA, **named)
    similarity = example_table(SIMILARITY_SCHEMA, variant="front", review_id=IDS, accepted=True, changed=changed)
    return chosen_reviews(metrics, similarity, IDS, **CHOICE | choice)


values = st.dictionaries(st.sampled_from(IDS), st.integers(-2, 2).map(float) | st.just(math.nan))


@given(values, values, st.lists(st.booleans(), min_size=8, max_size=8))
def test_the_extremes_and_the_median_by_an_independent_sort(front, original, changed):
    differs = dict(zip(IDS, changed, strict=True))
    finite = {name: value for name, value in original.items() if math.isfinite(value)}
    both = {name: front.get(name, math.nan) - value for name, value in finite.items() if differs[name]}
    pairs = {name: value for name, value in both.items() if math.isfinite(value)}
    ranked = [name for _, name in sorted((value, name) for name, value in (pairs or finite).items())]
    last, n = len(ranked) - 1, min(3, len(ranked))
    wanted = {1: [(0, "median")], 2: [(0, "least"), (last, "greatest")]}
    wanted |= {3: [(0, "least"), (last // 2, "median"), (last, "greatest")]}
    expected = [(ranked[place], which) for place, which in wanted.get(n, ())]
    found = chosen({"front": front, "original": original}, changed)
    assert found == (expected or [(name, "among the first") for name in IDS[:3]])


def test_a_study_of_originals_alone_takes_their_values_and_one_without_a_metric_the_first_reviews():
    original = {"original": {"r0": 3.0, "r1": 1.0, "r2": 2.0, "r3": 0.0}}
    found = chosen(original, variant=None, minus=None)
    assert found == [("r3", "least"), ("r1", "median"), ("r0", "greatest")]
    assert chosen(original, variant=None, minus=None, metric=None) == [(name, "among the first") for name in IDS[:3]]
