"""The figure of shifts: how far a text moves the pooled states of its original, by depth."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.grammar import DEPTH_LABEL, DEPTH_NOTE, ESTIMATE, Panels, handles_of
from homogenization.figures.read_texts import read_texts
from homogenization.figures.shown import Shown, Tables
from homogenization.figures.words import counted


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table shifts: columns models, lines texts."""
    table, texts, models, styles = read_texts(tables["shifts"], shown, "texts read by the untouched models")
    drawn = table.filter(pl.col("estimate") > 0)
    panels = Panels(("model", models), height=3.0, share_y=True)
    panels.lines(drawn, styles, y=ESTIMATE)
    panels.depth_axis()
    panels.fit(drawn, "estimate", logarithmic=[""])
    panels.label(DEPTH_LABEL, "shift")
    note = (
        "Line: distance of the pooled states of a text from those of its original, over the mean distance of that "
        "original from the others; mean over reviews. Band: its 95 % interval. "
        f"n = {counted(table['n_reviews'])}. {DEPTH_NOTE}"
    )
    return panels.finish(shown.title, note, handles_of(texts, styles))
