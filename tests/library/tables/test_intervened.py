"""Runs with changed attention, reduced to means over layers, and by dose."""

import numpy as np
import polars as pl
import pytest

from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA
from homogenization.tables.intervened import tabulate
from measured import written

METRIC, VIEW = "cosine_anisotropy", "all_tokens"
CONDITIONS = {  # key -> kind, pattern, blocks, strength, and the change of the metric per layer
    "untouched": ("untouched", None, "all", None, 0.0),
    "steering-first-0.1-all": ("steering", "first", "all", 0.1, 0.1),
    "masked-random_1": ("masked", "random_1", "all", None, 0.2),
    "masked-random_2": ("masked", "random_2", "all", None, 0.4),
    "positions-constant": ("positions", "constant", "all", None, -0.1),
}


def level(review):
    """The untouched metric at each layer; the first review's sizes are outliers."""
    return np.array([0.0, 0.5, 0.2, 0.3, 0.4]) * (100 if review == 0 else 1) + review


def files_of_job(folder, reviews, variant="original"):
    """The files `intervened` and `doses`."""
    runs = [
        (review, of, {"model": "m", "variant": variant, "review_id": f"r{review}", "condition": key})
        for review in reviews
        for key, of in CONDITIONS.items()
    ]
    place = {"view": VIEW, "metric": METRIC}
    values = [
        names | place | {"layer": layer, "depth": layer / 4, "value": value + of[-1] * layer, "untouched": value}
        for review, of, names in runs
        for layer, value in enumerate(level(review))
    ]
    doses = [
        names
        | dict(zip(("kind", "pattern", "blocks", "strength"), of, strict=False))
        | {"n_tokens": 9, "kl": of[-1] * (review + 1), "cross_entropy": 2.0, "sink_moved": review == 1}
        for review, of, names in runs
    ]
    return written(folder, pl.DataFrame(values, INTERVENED_SCHEMA), pl.DataFrame(doses, DOSES_SCHEMA))


@pytest.fixture
def tables(tmp_path):
    """The tables of two shards of originals, one empty shard, and a variant of which one review is accepted."""
    jobs = [files_of_job(tmp_path, reviews) for reviews in ((0, 1), (2,), ())]
    jobs.append(files_of_job(tmp_path, (0, 1), "front"))
    similarity = pl.DataFrame({"variant": "front", "review_id": ["r0", "r1"], "accepted": [False, True]})
    return tabulate(*zip(*jobs, strict=True), similarity)


def test_reviews_are_averaged_over_parts_of_the_depth_and_over_random_draws(tables):
    table, _ = tables
    originals = table.filter(variant="original")
    for kind, pattern, slope in (("steering", "first", 0.1), ("masked", "random", 0.3), ("untouched", None, 0.0)):
        for layers, chosen in (("all", [0, 1, 2, 3, 4]), ("middle", [1, 2]), ("last", [3, 4]), ("output", [4])):
            rows = originals.filter(pl.col("pattern").eq_missing(pattern), kind=kind, layers=layers).sort("review_id")
            expected = [(level(review) + slope * np.arange(5))[chosen].mean() for review in range(3)]
            assert rows["value"].to_list() == pytest.approx(expected)
            assert rows["kl"].to_list() == pytest.approx([slope, 2 * slope, 3 * slope])
            assert rows["sink_moved"].to_list() == [False, True, False]
    # the median over reviews moves by 1.5; the first review makes their standard deviations larger
    spreads = [np.std([level(review)[layer] for review in range(3)], ddof=1) for layer in range(5)]
    assert originals["yardstick"].unique().to_list() == pytest.approx([max(1.5, np.median(spreads))])
    assert table.filter(variant="front")["review_id"].unique().to_list() == ["r1"]


def test_doses_count_whose_sink_moved(tables):
    _, table = tables
    rows = {(row["kind"], row["pattern"]): row for row in table.filter(variant="original").iter_rows(named=True)}
    assert [rows["steering", "first"][name] for name in ("n_reviews", "n_sink_moved")] == [3, 1]
    assert rows["masked", "random"]["kl"] == pytest.approx(0.3 * 2)
    assert rows["steering", "first"]["cross_entropy"] == 2.0
    assert rows["steering", "first"]["moved_mass"] is None
