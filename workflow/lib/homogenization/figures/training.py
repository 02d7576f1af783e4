"""The figure of losses while models are trained: a panel for each arm, a line for each seed."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.panels import counted, finish, label_outer, panel_grid
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, GREY, house_style
from homogenization.figures.words import two_decimals

_ROW = "loss"
_COLOUR = "#0173b2"
_BASELINES = {"unigram": (":", "counts of single tokens"), "bigram": ("--", "counts of pairs")}


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table training.

    Raises:
        HomogenizationError: the table has none of the arms.
    """
    table = tables["training"].filter(pl.col("arm").is_in(names_of(shown.arms)))
    require_rows(table, shown, "arms", tables["training"]["arm"])
    arms = [(name, label) for name, label in shown.arms if name in set(table["arm"])]
    figure, panels = panel_grid(arms, [(_ROW, "")], row_height=2.6, share_y=True)
    for (_, arm), axes in panels.items():
        _draw_panel(axes, table.filter(arm=arm))
    label_outer(panels, "steps", {_ROW: "loss of the next token (nats)"})
    handles = [
        Line2D([], [], color=GREY, lw=0.8, label="texts of the step"),
        Line2D([], [], color=_COLOUR, marker="o", label="held-out texts"),
        *(Line2D([], [], color=DARK, ls=dashes, lw=1, label=label) for dashes, label in _BASELINES.values()),
    ]
    n_seeds = table.group_by("arm").agg(pl.col("seed").n_unique())["seed"]
    counts = [int(table[name].max()) for name in ("n_training", "n_held_out")]
    note = (
        f"A line for each of {counted(n_seeds, 'seed')}; {counts[0]:,} texts to train on, {counts[1]:,} held out. "
        "Horizontal lines: what counts of the training texts reach on the held-out ones. Number: the last "
        "held-out loss, mean over seeds."
    )
    return finish(figure, shown.title, note, handles)


def _draw_panel(axes: Axes, table: pl.DataFrame) -> None:
    reached = []
    for _, rows in table.sort("seed", "step").group_by("seed", maintain_order=True):
        steps, loss, held_out = (rows[name].to_numpy() for name in ("step", "loss", "held_out_loss"))
        axes.plot(steps, loss, color=GREY, lw=0.5, alpha=0.7, zorder=1)
        measured = np.isfinite(held_out)
        axes.plot(steps[measured], held_out[measured], color=_COLOUR, marker="o", ms=3, lw=1.2, label="held-out")
        reached.append(held_out[measured][-1])
    for name, (dashes, _) in _BASELINES.items():
        axes.axhline(table[name].drop_nulls().mean(), color=DARK, ls=dashes, lw=1, label=name)
    last = np.mean(reached)
    axes.annotate(
        two_decimals(last), (1, last), (3, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=9
    )
