"""The figures of consequences: harm against likeness, probes and shifts by depth."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from drawings import MODELS, line, require_axis_labels, require_house_style, require_refusal, saved, shown, texts
from homogenization.consequences.schemas import HARM_SCHEMA, OUTCOMES_OF_HARM
from homogenization.figures import harm, probes, shifts
from homogenization.statistics.pooled_states import PROBES_SCHEMA, SHIFTS_SCHEMA

N = 30
CONDITIONS = [  # kind, pattern, strength, placebo, reviews whose sink moved
    ("dial", "first", 0.1, False, 0),
    ("dial", "first", 0.4, False, 3),
    ("dial", "removed", 0.1, True, 0),
    ("dial", "removed", 0.4, True, 0),
    ("closed", "first", None, False, 0),
    ("closed", "random", None, True, 0),
]


@cache
def harm_table() -> pl.DataFrame:
    """The second model predicts no next token."""
    rows = []
    for model, _ in MODELS:
        for number, (kind, pattern, strength, placebo, moved) in enumerate(CONDITIONS):
            row = dict.fromkeys(HARM_SCHEMA) | {"model": model, "kind": kind, "pattern": pattern, "blocks": "all"}
            row |= {"strength": strength, "placebo": placebo, "n_reviews": N, "n_sink_moved": moved}
            for place, name in enumerate(OUTCOMES_OF_HARM):
                value = 0.1 * (number + 1) * (-1) ** place if (model, name) != ("beta", "kl") else np.nan
                row |= {name: value, f"{name}_low": value - 0.02, f"{name}_high": value + 0.03}
            rows.append(row | {"perturbation": "typo"})
    return pl.DataFrame(rows, HARM_SCHEMA)


@cache
def by_depth(schema_name: str) -> pl.DataFrame:
    """Levels of two texts by depth, and a difference that is not drawn."""
    schema = {"probes": PROBES_SCHEMA, "shifts": SHIFTS_SCHEMA}[schema_name]
    quantities = ("log_loss", "accuracy", "null_log_loss", "null_accuracy") if schema_name == "probes" else ("shift",)
    rows = []
    for model, _ in MODELS:
        for variant in ("original", "front", "typo"):
            for quantity in quantities:
                for layer in range(4):
                    for minus in (None, "original"):
                        row = dict.fromkeys(schema) | {"model": model, "kind": "untouched", "blocks": "all"}
                        row |= {"variant": variant, "minus": minus, "layer": layer, "depth": layer / 3, "n_reviews": N}
                        value = 0.2 + 0.1 * layer + len(variant) / 100 + (minus is not None)
                        row |= {"estimate": value, "ci_low": value - 0.05, "ci_high": value + 0.05}
                        rows.append(row | ({"quantity": quantity} if schema_name == "probes" else {}))
    return pl.DataFrame(rows, schema)


def draw(name):
    if name == "harm":
        return harm.draw({"harm": harm_table()}, shown())
    return {"probes": probes, "shifts": shifts}[name].draw({name: by_depth(name)}, shown())


@pytest.mark.parametrize("name", ["harm", "probes", "shifts"])
def test_it_keeps_the_house_style_and_is_the_same_each_time(name, tmp_path):
    figure = draw(name)
    require_house_style(figure, f"n = {N} reviews")
    require_axis_labels(figure)
    (tmp_path / "again").mkdir()
    assert saved(figure, tmp_path) == saved(draw(name), tmp_path / "again")


def test_points_are_conditions_and_placebos_are_open():
    figure = draw("harm")
    first, removed, closed, random = (
        line(figure.axes[0], name) for name in ("first", "removed", "closed first", "closed random")
    )
    table = harm_table().filter(model="alpha")
    np.testing.assert_allclose(first.get_xdata(), table["cosine"][:2])
    np.testing.assert_allclose(first.get_ydata(), table["kl"][:2])
    assert removed.get_markerfacecolor() == random.get_markerfacecolor() == "white"
    assert "white" not in (first.get_markerfacecolor(), closed.get_markerfacecolor())
    written = texts(figure)
    assert "placebo: nowhere (removed)" in written
    assert "another token took over the sink" in written
    assert "no next token" in written


@pytest.mark.parametrize("name", ["probes", "shifts"])
def test_lines_are_levels_and_no_differences(name):
    axes = draw(name).axes[0]
    rows = by_depth(name).filter(pl.col("minus").is_null(), model="alpha", variant="typo")
    if name == "probes":
        rows = rows.filter(quantity="log_loss")
        assert len(line(axes, "null").get_ydata()) == 4
    np.testing.assert_allclose(line(axes, "typo").get_ydata(), rows["estimate"])


def test_no_figure_is_drawn_of_other_models():
    other = shown(models=[["gamma", "Gamma"]])
    require_refusal(harm.draw, {"harm": harm_table()}, other, "models gamma")
    require_refusal(probes.draw, {"probes": by_depth("probes")}, other, "no rows for probes")
    require_refusal(shifts.draw, {"shifts": by_depth("shifts")}, other, "no rows for texts")
