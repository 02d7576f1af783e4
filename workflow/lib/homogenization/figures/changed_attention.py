"""What figures of changed attention share: names of patterns, rows of panels, and the scale of the damage."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from homogenization.figures.grammar import handles_of
from homogenization.figures.shown import Shown
from homogenization.figures.style import LineStyle
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import true_minus
from homogenization.interventions.conditions import BLOCK_NAMES
from homogenization.names.variants import ORIGINAL

LAYERS = {"all": "mean over layers", "output": "at the output"}
_VIEWS = {"cosine_anisotropy": ("all_tokens", "without_first"), "cosine_to_first_token": ("all_tokens",)}
_SPECTRAL_VIEWS = ("all_tokens", "centred")
_PATTERNS = {
    "first": "first token",
    "second": "second token",
    "ends": "first and last token",
    "recency": "recent tokens",
    "self": "itself",
    "removed": "nowhere (removed)",
    "uniform": "all tokens alike",
    "scattered": "a scattered token",
    "permuted": "permuted",
    "template": "by position (template)",
    "permuted_template": "template, permuted",
}


def pattern_label(pattern: str) -> str:
    """`first token` for `first`; any other name as it is, with spaces."""
    return _PATTERNS.get(pattern, pattern.replace("_", " "))


def pattern_handles(styles: Mapping[str, LineStyle]) -> list[Line2D]:
    """Legend entries of patterns; a control says so."""
    labels = [(name, "control: " * style.control + pattern_label(name)) for name, style in styles.items()]
    return handles_of(labels, styles)


def chosen_variant(variants: pl.Series) -> str:
    """The originals where they are among `variants`, else the first by name."""
    present = variants.unique().sort().to_list()
    return ORIGINAL if ORIGINAL in present else present[0]


def views_of(table: pl.DataFrame, metric: str) -> list[str]:
    """The views of a metric that have a row of panels, of those that `table` has; if it has none of them, all."""
    present = set(table["view"])
    return [view for view in _VIEWS.get(metric, _SPECTRAL_VIEWS) if view in present] or sorted(present)


def rows_of_panels(table: pl.DataFrame, shown: Shown, by_blocks: bool = False) -> dict[str, tuple[dict[str, str], str]]:
    """Name -> columns that a row of panels holds, and its label: models and views, `by_blocks` models and ranges.

    Several ranges stand in rows for the last view alone, which the label does not name.
    """
    views = views_of(table, shown.metric)
    names = table["blocks"].unique().sort().to_list() if by_blocks else []
    ranges = [name for name in BLOCK_NAMES if name in names] + [name for name in names if name not in BLOCK_NAMES]
    if len(ranges) > 1:
        cells = [({"view": views[-1], "blocks": blocks}, range_label(blocks)) for blocks in ranges]
    else:
        cells = [({"view": view}, view_label(view)) for view in views]
    rows = {}
    for model, label in shown.models:
        for cell, what in cells:
            told = {"model": model} | cell
            if not table.filter(**told).is_empty():
                rows[" ".join(told.values())] = (told, f"{label}; {what}")
    return rows


def range_label(blocks: str) -> str:
    """`all blocks`, `middle blocks`, `blocks 1,2`."""
    return f"{blocks} blocks" if blocks in BLOCK_NAMES else f"block{'s' * (',' in blocks)} {blocks}"


def set_root_scale(axes: Axes) -> None:
    """A horizontal axis from 0 on the scale of the root, on which the answer to small doses is a straight line."""
    axes.set_xscale("function", functions=(lambda kl: np.sqrt(np.clip(kl, 0, None)), np.square))


def set_root_ticks(axes: Axes, largest: float) -> None:
    """Three ticks from 0 to at most `largest`, which do not crowd on a root scale."""
    size = 10.0 ** np.floor(np.log10(max(largest, 1e-12)))
    step = size * max(factor for factor in (0.5, 1, 2, 5) if factor * size <= largest) if largest >= 1e-12 else 0.0
    ticks = [0.0, step / 5, step] if step > 0 else [0.0]
    axes.set_xticks(ticks, [true_minus(f"{tick:g}") for tick in ticks])
