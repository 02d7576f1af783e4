"""The figure of closed keys, capped sinks and other positions."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from dosed import COSINE, intervened_rows
from drawings import line, require_house_style, require_refusal, saved, shown, texts
from homogenization.figures.conditions import draw
from homogenization.inference.doses import Condition
from homogenization.statistics.interventions import effects_table
from homogenization.tables.intervened import DOSE_MEANS_SCHEMA, INTERVENED_LAYERS_SCHEMA

N = 12
FIRST, RANDOM, MASSIVE = (Condition("closed", key) for key in ("first", "random", "massive"))
DROPPED, CONSTANT = Condition("capped", "nobody", "all", 0.1), Condition("positions", "constant")
EFFECTS = {FIRST: 0.2, RANDOM: 0.01, MASSIVE: -0.3, DROPPED: -0.1, CONSTANT: 0.5}
MOVED = {FIRST: np.arange(N) < 4, MASSIVE: np.ones(N, dtype=bool)}
KL = {"alpha": 0.16, "beta": None}


@cache
def tables():
    """Two models; in the first reviews, which change most, another token takes over the closed first token."""
    noise = np.linspace(0.05, -0.05, N)
    values = {condition: effect + noise for condition, effect in EFFECTS.items()}
    rows = [
        intervened_rows(values, None, MOVED, layers, view=view, model=model)
        for model in KL
        for view in ("all_tokens", "without_first")
        for layers in ("all", "output")
    ]
    told = [
        {"model": model, "variant": "original", **condition._asdict(), "n_reviews": N, "n_skipped": 0, "kl": kl}
        | {"n_sink_moved": int(MOVED.get(condition, np.zeros(N)).sum())}
        for model, kl in KL.items()
        for condition in EFFECTS
    ]
    layers = [
        {"model": model, "variant": "original", **condition._asdict(), "layer": layer, "depth": layer / 2.0}
        | {"view": view, "metric": COSINE, "n_reviews": N, "mean": effect * layer, "ci_low": 0.0, "ci_high": 0.0}
        for model in KL
        for view in ("all_tokens", "without_first")
        for condition, effect in EFFECTS.items()
        for layer in range(3)
    ]
    return {
        "interventions": effects_table(pl.concat(rows), 200, 0.95, 0),
        "intervened_layers": pl.DataFrame(layers, schema=INTERVENED_LAYERS_SCHEMA),
        "doses": pl.DataFrame(told, schema=DOSE_MEANS_SCHEMA),
    }


@cache
def drawn(homogenization=1):
    return draw(tables(), shown(metric=COSINE, label="cosine", homogenization=homogenization))


def panel(row, column):
    return drawn().axes[row * 3 + column]


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    assert "Alpha (trained); without the first token" in texts(drawn())


def test_points_are_the_estimates_of_the_reviews_whose_sink_stayed():
    table = tables()["interventions"].filter(model="alpha", view="all_tokens", against="untouched", layers="all")
    for pattern, label in (("first", "first token closed"), ("constant", "positions constant")):
        (row,) = table.filter(pattern=pattern).iter_rows(named=True)
        assert line(panel(0, 0), label).get_xdata()[0] == row["estimate"]
    assert table.filter(pattern="first")["n_reviews"].item() == N - 4


def test_where_sinks_moved_the_mean_over_all_reviews_stands_beside():
    for column, of_layers in ((0, 1.0), (1, 2.0)):
        labels = [curve.get_label() for curve in panel(0, column).lines]
        assert [label for label in labels if "all reviews" in label] == [
            "first token closed, all reviews",
            "massive tokens closed, all reviews",
        ]
        assert line(panel(0, column), labels[-1]).get_xdata()[0] == pytest.approx(-0.3 * of_layers)
    assert "massive tokens closed" not in labels, "it moved in every review"
    lanes = [label.get_text() for label in panel(0, 0).get_yticklabels()]
    assert lanes[0] == f"first token closed\nsink moved in 4 of {N}"
    assert lanes[1] == "a random token closed"


def test_a_model_without_next_token_says_so():
    assert "no next token" in [text.get_text() for text in panel(2, 2).texts]
    assert "0.160" in [text.get_text() for text in panel(0, 2).texts]


def test_the_side_of_homogenization_is_tinted_and_both_changes_share_a_scale():
    assert panel(0, 0).patches
    assert panel(0, 0).get_xlim() == panel(0, 1).get_xlim()
    assert not drawn(0).axes[0].patches


def test_a_model_whose_sinks_all_moved_has_means_alone():
    barred = {name: table.filter(pattern="massive") for name, table in tables().items()}
    axes = draw(barred, shown(metric=COSINE, label="cosine")).axes[0]
    assert [curve.get_label() for curve in axes.lines] == ["zero", "massive tokens closed, all reviews"]


def test_reviews_that_are_too_long_are_counted_and_rounding_is_no_damage():
    offset = pl.when(pattern="constant")
    changed = tables()["doses"].with_columns(
        kl=offset.then(-5e-10).otherwise("kl"), n_skipped=offset.then(5).otherwise("n_skipped"), n_reviews=N - 5
    )
    axes = draw({**tables(), "doses": changed}, shown(metric=COSINE, label="cosine")).axes
    lanes = [label.get_text() for label in axes[0].get_yticklabels()]
    assert lanes[-1] == f"positions constant\n5 of {N} too long"
    assert [text.get_text() for text in axes[2].texts].count("0") == 1


def test_it_refuses_what_the_table_lacks():
    require_refusal(draw, tables(), shown(metric="stable_rank", label=""), "no rows for metric 'stable_rank'")


def test_two_drawings_are_the_same_file(tmp_path):
    chosen = shown(metric=COSINE, label="cosine")
    assert saved(draw(tables(), chosen), tmp_path) == saved(draw(tables(), chosen), tmp_path)
