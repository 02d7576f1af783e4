"""The figure of the first token's norm, shares and cosine."""

from functools import cache

import numpy as np
import polars as pl

from drawings import (
    N,
    line,
    require_axis_labels,
    require_house_style,
    require_refusal,
    shown,
    summary_table,
)
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.first_token import METRICS, draw


def first_token_table(metrics=METRICS):
    return pl.concat([summary_table(metric, ("all_tokens",)) for metric in metrics])


@cache
def drawn():
    return draw({"summary": first_token_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


def test_it_has_a_row_a_measure_and_the_uniform_share():
    table = first_token_table().with_columns(
        mean=pl.when(pl.col("metric") == "first_token_attention_excess").then(pl.col("mean") - 0.04).otherwise("mean")
    )
    figure = draw({"summary": table}, shown())
    assert len(figure.axes) == 8
    np.testing.assert_allclose(line(figure.axes[4], "uniform").get_ydata(), 0.04)
    assert line(figure.axes[0], "front").get_xdata().max() == 1


def test_it_leaves_out_what_is_not_in_the_table():
    assert len(draw({"summary": first_token_table(["first_token_norm"])}, shown()).axes) == 2


def test_a_table_of_other_metrics_is_refused():
    require_refusal(draw, {"summary": summary_table()}, shown(), "first_token_norm")


def test_a_study_draws_it_where_it_has_one_of_its_rows():
    """The excess over uniform attention alone draws no row."""
    for metric in (*METRICS, "effective_rank"):
        study = type("Study", (), {"tabulated_metrics": [metric]})
        drawn_there = bool(FIGURES["first_token"].when(study))
        assert drawn_there == (metric in METRICS and metric != "first_token_attention_excess"), metric
