"""The figure of losses while models are trained: a panel for each arm, a line for each seed."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, draw_lines, handle
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import BLUE, DARK, FINE, GREY, HAIR, LIGHT, STRONG, LineStyle
from homogenization.figures.words import counted, two_decimals

_STEPS, _HELD_OUT = LineStyle(GREY), LineStyle(BLUE, "-", "o")
_BASELINES = {"unigram": (":", "counts of single tokens"), "bigram": ("--", "counts of pairs")}


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table training."""
    table = require_rows(rows_of(tables["training"], shown, ("arm",)), shown, "arms", tables["training"]["arm"])
    panels = Panels(("arm", named_in(shown.arms, table["arm"])), height=2.6, share_y=True)
    for axes, rows in panels.of(table):
        _draw_panel(axes, rows)
    panels.label("steps", "loss of the next token (nats)")
    handles = [
        handle("texts of the step", _STEPS, lw=FINE),
        handle("held-out texts", _HELD_OUT),
        *(handle(label, LineStyle(DARK, dashes), lw=LIGHT) for dashes, label in _BASELINES.values()),
    ]
    n_seeds = table.group_by("arm").agg(pl.col("seed").n_unique())["seed"]
    counts = [int(table[name].max()) for name in ("n_training", "n_held_out")]
    note = (
        f"A line for each of {counted(n_seeds, 'seed')}; {counts[0]:,} texts to train on, {counts[1]:,} held out. "
        "Horizontal lines: what counts of the training texts reach on the held-out ones. Number: the last "
        "held-out loss, mean over seeds."
    )
    return panels.finish(shown.title, note, handles)


def _draw_panel(axes: Axes, table: pl.DataFrame) -> None:
    reached = []
    for (seed,), rows in table.sort("seed", "step").group_by("seed", maintain_order=True):
        measured = rows.filter(pl.col("held_out_loss").is_finite())
        own = {"x": "step", "hue": "seed", "markers": len(rows)}
        draw_lines(axes, rows, {seed: _STEPS}, y=("loss",), **own, lw=HAIR, alpha=0.7, zorder=1)
        draw_lines(axes, measured, {seed: _HELD_OUT}, y=("held_out_loss",), **own, ms=3, lw=STRONG, label="held-out")
        reached.append(measured["held_out_loss"][-1])
    for name, (dashes, _) in _BASELINES.items():
        axes.axhline(table[name].drop_nulls().mean(), color=DARK, ls=dashes, lw=LIGHT, label=name)
    last = np.mean(reached)
    axes.annotate(
        two_decimals(last), (1, last), (3, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=9
    )
