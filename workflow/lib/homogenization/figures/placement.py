"""The figure of where the key phrases stood in their sentences and where each variant put them."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import Panels, mark_empty
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, EMPTY, variant_styles
from homogenization.figures.words import counted
from homogenization.names.variants import ORIGINAL

_N_INNER = 8
_PLACES = np.array([-0.5, *range(1, _N_INNER + 1), _N_INNER + 1.5])  # the two ends stand apart
_TICKS = {-0.5: "start\n(0)", (_N_INNER + 1) / 2: "0.5", _N_INNER + 1.5: "end\n(1)"}


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table placement: a panel for each variant but the original, shares of phrases by position."""
    moved = [pair for pair in shown.variants if pair[0] != ORIGINAL]
    variants = names_of(shown.variants)
    table = tables["placement"].filter(pl.col("variant").is_in(variants))
    # of a variant that a language model could not write there are none
    require_rows(table, shown, f"variants {', '.join(variants)}", tables["placement"]["variant"])
    styles = variant_styles(shown.variants)
    panels = Panels(("variant", moved), height=3.0, share_y=True)
    placed = table.drop_nulls(["original_position", "position"])
    for (_, name), axes, rows in panels.parts(placed):
        if rows.is_empty():
            mark_empty(axes, "no key phrases")
            continue
        before, after = (_shares(rows[column].to_numpy()) for column in ("original_position", "position"))
        axes.bar(_PLACES, before, width=0.9, color=EMPTY, label="before")
        axes.bar(_PLACES, after, width=0.42, color=styles[name].colour, label="after")
        axes.set_xticks(list(_TICKS), list(_TICKS.values()))
        axes.grid(axis="x", visible=False)
    panels.label("Position in the sentence", "Key phrases (%)")
    counts = table.group_by("variant").agg(pl.len(), pl.col("review_id").n_unique(), pl.col("position").null_count())
    note = (
        f"{counted(counts['len'], 'key phrase')} in {counted(counts['review_id'])} for each variant; a phrase that is "
        f"its whole sentence has no position and is left out ({counted(counts['position'], 'phrase')}). Grey: "
        "where the same phrases stand in the original review; variants with other phrases have other ones. Position: "
        "words before the phrase as a fraction of the sentence's other words; the bars at start and end are exactly "
        "0 and 1. Of several phrases moved to the same end of a sentence, only one can be outermost."
    )
    handles = [
        Patch(color=EMPTY, label="the same phrases in the original review"),
        Patch(color=DARK, label="in the variant (in its colour)"),
    ]
    return panels.finish(shown.title, note, handles)


def _shares(positions: np.ndarray) -> np.ndarray:
    """Percentage of positions that are exactly 0, in each of the equal inner bins, and exactly 1."""
    inner = positions[(positions > 0) & (positions < 1)]
    counts = np.histogram(inner, bins=np.linspace(0, 1, _N_INNER + 1))[0]
    counts = np.concatenate([[np.sum(positions <= 0)], counts, [np.sum(positions >= 1)]])
    return 100 * counts / positions.size
