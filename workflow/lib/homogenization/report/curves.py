"""The section of curves: a metric over depth in each variant, and below it what each variant adds to the original."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.figures.style import DEPTH, MARGIN, variant_styles
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED

Named = Sequence[Sequence[str]]  # ordered (name, label) pairs
# the views that can be chosen, by their names for spectra and for geometry
_VIEWS = dict.fromkeys(("raw_without_first", WITHOUT_FIRST), "without the first token")
_VIEWS |= dict.fromkeys(("raw", ALL_TOKENS), "all tokens")
_DIGITS = 4  # significant ones of a number
_NUMBERS = ("depth", "mean", "ci_low", "ci_high")
_COLUMNS = ("metric", "view", "model", "variant", *_NUMBERS, "n_reviews")


def curves(
    summary: pl.DataFrame,
    contrasts: pl.DataFrame,
    *,
    models: Named,
    variants: Named,
    metrics: Named,
    margin: float,
    ladder: Sequence[str] = (),
) -> dict[str, Any] | None:
    """What the script of the section draws, for JSON; None where the tables have nothing of these metrics.

    `choices` has the numbers and labels of the metrics, views and models that rows have; `variants` have a label,
    colour and dashes; each of `charts` a title and rows (`_COLUMNS`; of differences also the bound of what is
    negligible, whether the verdict is decided, and the verdict).

    Drawn are means of `summary`, and of `contrasts` the layers of tested differences from the original. `margin` is a
    share of the yardstick; `ladder` are variants with growing disorder, the least first.
    """
    choices = {"metric": dict(metrics), "view": _VIEWS, "model": dict(models)}
    levels = _rows(summary, choices, variants)
    if levels.is_empty():
        return None
    layers = contrasts.filter(pl.col("layers").is_null(), pl.col("layer").is_not_null(), pl.col("group").is_null())
    tested = layers.filter(pl.col("minus") == ORIGINAL, pl.col("verdict") != NOT_TESTED)
    bound = (margin * pl.col("yardstick")).fill_nan(None).round_sig_figs(_DIGITS)
    said = {"bound": bound, "decided": pl.col("verdict").is_in(DECIDED)}
    changes = _rows(tested.with_columns(**said), choices, variants).select(*_COLUMNS, *said, "verdict")
    charts = [{"title": "Mean over reviews, and its 95 % interval", "rows": levels.select(_COLUMNS).rows()}]
    if not changes.is_empty():
        title = "Variant minus original, review by review; filled: decided, grey: negligible"
        charts.append({"title": title, "rows": changes.rows()})
    styles, labels = variant_styles(dict(variants), ladder), dict(variants)
    dashes = {name: "" if style.dashes == "-" else style.dashes[1] for name, style in styles.items()}
    return {
        "charts": charts,
        "choices": {name: _present(of, set(levels[name])) for name, of in choices.items()},
        "variants": [[labels[name], style.colour, dashes[name]] for name, style in styles.items()],
        "colour": MARGIN,
        "x": DEPTH,
    }


def _present(labels: Mapping[str, str], numbers: set[int]) -> list[tuple[int, str]]:
    """The labels that rows have, with their numbers."""
    return [(place, label) for place, label in enumerate(dict.fromkeys(labels.values())) if place in numbers]


def _rows(table: pl.DataFrame, choices: Mapping[str, Mapping[str, str]], variants: Named) -> pl.DataFrame:
    """The rows of the residual stream that can be chosen, with numbers in the place of names."""
    codes = {name: {key: list(dict.fromkeys(of.values())).index(of[key]) for key in of} for name, of in choices.items()}
    codes["variant"] = {name: place for place, (name, _) in enumerate(variants)}
    known = [pl.col(name).is_in(list(of)) for name, of in codes.items()]
    rows = table.filter(pl.col("mean").is_finite(), *known, point=RESIDUAL_STREAM).sort("depth")
    numbers = pl.col(_NUMBERS).fill_nan(None).round_sig_figs(_DIGITS)
    return rows.with_columns(numbers, *(pl.col(name).replace_strict(of) for name, of in codes.items()))
