"""Probes and harm with planted numbers; claims about them beside their controls."""

import numpy as np
import polars as pl
import pytest

from dosed import intervened_rows, steering
from examples import example_table
from homogenization.consequences.schemas import HARM_SCHEMA, POOLED_READINGS_SCHEMA
from homogenization.interventions.schemas import DOSES_SCHEMA
from homogenization.statistics.consequences import harm_table
from homogenization.statistics.doses import Condition
from homogenization.statistics.pooled_states import probes_table
from homogenization.statistics.resampling import Resampling
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from library.statistics.shared import CONFIDENCE, DRAWS, SEED

N = 24
PLACE = np.linspace(-0.1, 0.1, N)  # of a review among the others
STEERING = {"kind": "steering", "pattern": "first", "blocks": "all", "strength": 0.2}
POOLED = "pooled"
NOTHING_KNOWN = pl.DataFrame(schema=SIMILARITY_SCHEMA)  # of what rewriting changed: every text counts
UNTOUCHED = {"kind": "untouched", "pattern": None, "blocks": "all", "strength": None}


def readings(**values) -> pl.DataFrame:
    """Readings of two layers by text and condition: the mean of a column, on which reviews differ by `PLACE`."""
    parts, schema = [], POOLED_READINGS_SCHEMA | {name: DOSES_SCHEMA[name] for name in UNTOUCHED}
    for key, (column, level) in values.items():
        text, _, condition = key.partition("__")
        told = STEERING if condition else UNTOUCHED
        for layer in (0, 1):
            names = {"model": "m", "variant": text, "condition": condition, "layer": layer, "depth": float(layer)}
            numbers = dict.fromkeys(list(POOLED_READINGS_SCHEMA)[6:], np.nan)
            numbers[column] = level + layer + PLACE
            reviews = [f"r{place:02d}" for place in range(N)]
            parts.append(example_table(schema, **names, **told, review_id=reviews, **numbers))
    return pl.concat(parts)


def test_probes_are_compared_with_original_control_and_untouched_review_by_review():
    table = probes_table(
        readings(
            original=("log_loss", 0.4),
            front=("log_loss", 0.5),
            inward=("log_loss", 0.7),
            original__steering=("log_loss", 0.65),
        ),
        NOTHING_KNOWN,
        {"front": {"edge": "inward"}},
        Resampling(DRAWS, CONFIDENCE, SEED),
    )
    of_layer = table.filter(layer=1)
    found = {(row["variant"], row["kind"], row["minus"]): row for row in of_layer.iter_rows(named=True)}
    assert found["original", "untouched", None]["estimate"] == pytest.approx(1.4)
    assert found["original", "untouched", None]["ci_low"] < 1.4 < found["original", "untouched", None]["ci_high"]
    differences = {key: row for key, row in found.items() if key[2] is not None}
    assert {key: pytest.approx(row["estimate"]) for key, row in differences.items()} == {
        ("front", "untouched", "original"): 0.1,
        ("front", "untouched", "inward"): -0.2,
        ("inward", "untouched", "original"): 0.3,
        ("original", "steering", "untouched"): 0.25,
    }
    assert all(row["ci_high"] - row["ci_low"] < 1e-9 and row["p_max_t"] < 0.02 for row in differences.values())
    assert np.isnan(found["original", "untouched", None]["p_max_t"])


def consequences(sink_moved=False):
    """`first` makes tokens alike and costs twice of what `uniform` costs where tokens are as much alike."""
    n = np.ones(N) + PLACE
    cosine = {steering("first", 0.2): 0.2 * n, steering("uniform", 0.2): 0.1 * n, steering("uniform", 0.4): 0.3 * n}
    kl = {steering("first", 0.2): 2.0 * n, steering("uniform", 0.2): 0.5 * n, steering("uniform", 0.4): 1.5 * n}
    moved = {steering("first", 0.2): np.arange(N) < 4} if sink_moved else None
    zero = Condition("untouched")
    parts = [
        intervened_rows(cosine, kl, moved),
        intervened_rows(cosine, kl, moved, layers="output"),
        intervened_rows(kl, kl, moved, metric="kl", view="predictions"),
        intervened_rows({zero: 0.6 + PLACE} | dict.fromkeys(kl, 0.7 + PLACE), kl, metric="probe_log_loss", view=POOLED),
        intervened_rows({zero: 0.9 + PLACE}, metric="probe_log_loss", view=POOLED, layers="output"),
        intervened_rows({zero: 0.4 + PLACE}, metric="probe_log_loss", view=POOLED).with_columns(
            variant=pl.lit("front")
        ),
    ]
    return pl.concat(parts)


def test_harm_has_a_row_for_each_condition_placebos_and_moved_sinks_marked():
    table = harm_table(consequences(sink_moved=True), CONFIDENCE)
    assert table.schema == pl.Schema(HARM_SCHEMA)
    first, *uniform = table.iter_rows(named=True)
    assert (first["pattern"], first["placebo"], first["n_sink_moved"], first["n_reviews"]) == ("first", False, 4, N)
    assert [row["placebo"] for row in uniform] == [True, True]
    assert first["cosine"] == first["cosine_output"] == pytest.approx(0.2)
    assert first["cosine_low"] < 0.2 < first["cosine_high"]
    assert first["kl"] == pytest.approx(2.0)
    assert first["probe"] == pytest.approx(0.1)
    assert np.isnan([first["rank"], first["cross_entropy"]]).all()
    without = harm_table(consequences().filter(pl.col("metric") != "kl"), CONFIDENCE)
    assert without["reason"].to_list() == ["the model predicts no next token"] * 3
