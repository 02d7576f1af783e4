"""What changed attention does: closed forms, a plain comparison at equal KL, and rates of made-up studies."""

import numpy as np
import polars as pl
import pytest

from examples import example_table
from homogenization.statistics.effects import EFFECTS_SCHEMA, Condition, Dose, at_equal_kl, effects_table, text_effects
from homogenization.statistics.estimate import Settings
from homogenization.tables.intervened import INTERVENED_BY_REVIEW_SCHEMA, UNTOUCHED
from homogenization.tables.similarity import SIMILARITY_SCHEMA

SETTINGS = Settings(draws=500, margin=0.02, min_reviews=6)
N = 20
NUMBERS = ("mean", "ci_low", "ci_high", "p_max_t")
STRENGTHS = (0.05, 0.1, 0.2, 0.4)


def steering(pattern, strength):
    return Condition("steering", pattern, "all", strength)


def intervened_rows(conditions, kl=None, moved=None, size=1.0, branch_norm=False, **names):
    """Rows from the metric (reviews,) of each condition; the untouched run has zeros unless given, a NaN has no row.

    `kl` and `moved` are arrays (reviews,) by condition; the yardstick is `size`.
    """
    n = len(next(iter(conditions.values())))
    conditions = {Condition(UNTOUCHED): np.zeros(n)} | conditions
    parts = [
        {
            "model": "m",
            "variant": "original",
            "review_id": [f"r{number:03d}" for number in range(n)],
            **condition._asdict(),
            **{"layers": "all", "view": "all_tokens", "metric": "cosine_anisotropy", **names},
            "value": np.asarray(values, dtype=float),
            "untouched": np.asarray(conditions[Condition(UNTOUCHED)], dtype=float),
            "kl": (kl or {}).get(condition),
            "sink_moved": (moved or {}).get(condition, False),
            "branch_norm": branch_norm,
            "yardstick": size,
        }
        for condition, values in conditions.items()
    ]
    tables = [pl.DataFrame(columns, schema=INTERVENED_BY_REVIEW_SCHEMA) for columns in parts]
    return pl.concat(tables).filter(pl.col("value").is_not_nan())


def curves(effects, damage, n=40, noise=0.0):
    """Conditions and KL of patterns of steering: the change is effect x strength, the KL is damage x strength ** 2.

    `noise` is the standard deviation over reviews of the effect per unit strength, and the relative one of the KL.
    """
    generator = np.random.default_rng(0)
    conditions, kl = {}, {}
    for pattern, effect in effects.items():
        own = effect + noise * generator.standard_normal(n)
        dose = damage[pattern] * np.exp(noise * generator.standard_normal(n))
        for strength in STRENGTHS:
            conditions[steering(pattern, strength)] = own * strength
            kl[steering(pattern, strength)] = dose * strength**2
    return conditions, kl


def row_of(table, **chosen):
    (row,) = table.filter(**chosen).iter_rows(named=True)
    return row


def test_a_pattern_is_compared_with_the_untouched_run_and_with_every_control_that_there_is():
    effects, damage = {"first": 0.5, "uniform": 0.2, "removed": -0.3}, {"first": 0.5, "uniform": 1, "removed": 0.1}
    table = effects_table(intervened_rows(*curves(effects, damage), size=2.0), SETTINGS)
    assert dict(table.schema) == EFFECTS_SCHEMA
    of_dose = table.filter(pattern="first", strength=0.2)
    # removing needs a strength of .447 for this KL: its curve ends before
    beyond = row_of(of_dose, minus="removed at equal KL")
    assert (beyond["verdict"], beyond["reason"][:25]) == ("not tested", "the control's KL reaches ")
    means = dict(of_dose.filter(pl.col("reason").is_null()).select("minus", "mean").rows())
    at_kl = 0.1 - 0.04 * np.sqrt(0.5)
    assert means == pytest.approx({"untouched": 0.1, "uniform": 0.06, "removed": 0.16, "uniform at equal KL": at_kl})
    assert set(table.filter(pattern="removed")["minus"]) == {"untouched"}


def test_reviews_whose_sink_moved_in_the_condition_or_its_control_are_left_out():
    first, removed, masked = steering("first", 0.1), steering("removed", 0.1), Condition("masked", "first", "all")
    values = {first: np.r_[9.0, 9.0, np.ones(N - 2)], removed: np.zeros(N), masked: np.ones(N)}
    moved = {first: np.arange(N) < 2, removed: np.arange(N) == N - 1, masked: np.ones(N, dtype=bool)}
    table = effects_table(intervened_rows(values, moved=moved), SETTINGS)
    alone, less = (row_of(table, kind="steering", pattern="first", minus=name) for name in ("untouched", "removed"))
    assert [(row["mean"], row["n_reviews"]) for row in (alone, less)] == [(1, N - 2), (1, N - 3)]
    assert row_of(table, kind="masked")["reason"] == "0 reviews have a value; at least 6 are needed"


def test_a_norm_behind_attention_leaves_the_other_controls():
    effects, damage = {"first": 0.5, "removed": 0.4, "uniform": 0.2}, {"first": 0.5, "removed": 1, "uniform": 1}
    conditions, kl = curves(effects, damage, N, 0.3)
    table = effects_table(intervened_rows(conditions, kl, branch_norm=True), SETTINGS)
    less = table.filter(pl.col("minus").str.starts_with("removed"))
    assert set(less["pattern"]) == {"first"}
    assert less.select(NUMBERS).unpivot()["value"].is_nan().all()
    others = table.filter(~pl.col("minus").str.starts_with("removed"), strength=0.2, pattern="first")
    assert "not tested" not in others["verdict"]


def doses(conditions, kl, pattern):
    points = [steering(pattern, strength) for strength in STRENGTHS]
    return [Dose(conditions[point][:, None], kl[point]) for point in points]


def plain_at_equal_kl(own, curve):
    """The difference of means, with numpy's interpolation over the whole curve."""
    x = np.sqrt([0, *(point.kl.mean() for point in curve)])
    y = [0, *(point.change.mean() for point in curve)]
    return own.change.mean() - np.interp(np.sqrt(own.kl.mean()), x, y, right=np.nan)


def test_at_equal_kl_the_mean_is_that_of_the_plain_curve_and_its_spread_that_of_the_jackknife():
    conditions, kl = curves({"first": 0.7, "uniform": 0.3}, {"first": 0.4, "uniform": 1.6}, 60, 0.2)
    curve = doses(conditions, kl, "uniform")
    for own in doses(conditions, kl, "first"):
        values, reason = at_equal_kl(own, curve)
        assert reason is None
        assert values.mean() == pytest.approx(plain_at_equal_kl(own, curve))
        without = [
            plain_at_equal_kl(*(parts[0], parts[1:]))
            for parts in (
                [Dose(np.delete(d.change, i, 0), np.delete(d.kl, i)) for d in (own, *curve)] for i in range(60)
            )
        ]
        assert values.std(ddof=1) / 60**0.5 == pytest.approx(np.std(without) * 59**0.5, rel=0.03)


def test_at_equal_kl_reviews_without_a_dose_do_not_count():
    conditions, kl = curves({"first": 0.7, "uniform": 0.3}, {"first": 0.4, "uniform": 1.6}, N, 0.2)
    own, *_ = doses(conditions, kl, "first")
    curve = doses(conditions, kl, "uniform")
    gone = kl | {steering("uniform", 0.05): np.where(np.arange(N) < 3, np.nan, kl[steering("uniform", 0.05)])}
    values, _ = at_equal_kl(own, doses(conditions, gone, "uniform"))
    assert np.isnan(values[:3]).all()
    fewer = [Dose(dose.change[3:], dose.kl[3:]) for dose in (own, *curve)]
    assert values[3:].mean() == pytest.approx(plain_at_equal_kl(fewer[0], fewer[1:]))


def text_rows(layers, **levels):
    """Rows of the untouched model: a probe's loss by text, on which reviews differ."""
    place = np.linspace(-0.1, 0.1, N)
    own = Condition("untouched")
    cell = {"metric": "probe_log_loss", "view": "pooled", "layers": layers}
    rows = {name: intervened_rows({own: level + place}, **cell) for name, level in levels.items()}
    return pl.concat(table.with_columns(variant=pl.lit(name)) for name, table in rows.items())


def test_texts_are_compared_where_they_differ_and_layers_with_the_middle():
    rows = pl.concat([text_rows("output", original=0.9, front=0.4, inward=0.6), text_rows("middle", original=0.5)])
    same = {"variant": "front", "review_id": [f"r{place:03d}" for place in range(5)], "accepted": True}
    similarity = example_table(SIMILARITY_SCHEMA, **same, changed=False)
    table = text_effects(rows, similarity, {"front": {"edge": "inward"}}, SETTINGS)
    assert dict(table.schema) == EFFECTS_SCHEMA
    found = {row[:3]: row[3:] for row in table.select("variant", "minus", "layers", "mean", "n_reviews").rows()}
    assert found == {
        ("front", "original", "output"): (pytest.approx(-0.5), 15),
        ("front", "inward", "output"): (pytest.approx(-0.2), 20),
        ("inward", "original", "output"): (pytest.approx(-0.3), 20),
        ("original", "layers middle", "output"): (pytest.approx(0.4), 20),
    }
