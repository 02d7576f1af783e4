"""The figure of the similarity of each variant to the original, with the threshold and pairs of random reviews."""

import textwrap

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from homogenization.figures.style import (
    DARK,
    GREY,
    Named,
    finish,
    house_style,
    panel_grid,
    variant_styles,
)

RANDOM_PAIRS = "random_pairs"
_N_BINS = 40


@house_style()
def draw_similarity(table: pl.DataFrame, title: str, threshold: float, variants: Named) -> Figure:
    """The figure: one histogram above another, on one horizontal axis.

    Args:
        table: tables/similarity.parquet.
        title: of the figure.
        threshold: the least F1 at which a rewritten review is accepted.
        variants: (name, label) in the order from above; those without scores (the original) are left out.
    """
    styles = variant_styles(variants)
    scores = {
        name: table.filter(pl.col("variant") == name, pl.col("f1").is_finite())["f1"].to_numpy()
        for name in [name for name, _ in variants] + [RANDOM_PAIRS]
    }
    shown = [(name, label) for name, label in variants if scores[name].size]
    if scores[RANDOM_PAIRS].size:
        shown.append((RANDOM_PAIRS, "Random pairs of originals"))
    edges = _bin_edges(np.concatenate([scores[name] for name, _ in shown] + [np.array([threshold])]))
    figure, panels = panel_grid([("f1", "")], [(name, "") for name, _ in shown], row_height=1.35)
    for name, label in shown:
        axes = panels[name, "f1"]
        sns.histplot(
            x=scores[name],
            bins=edges,
            ax=axes,
            element="step",
            color=styles[name].colour if name in styles else GREY,
            alpha=0.5,
            lw=1,
        )
        axes.axvline(threshold, color=DARK, ls="--", lw=1.2)
        title_lines = textwrap.fill(_panel_title(table, name, label, scores[name]), 78)
        axes.set_title(title_lines, loc="left", weight="normal")
        axes.set(xlim=(edges[0], edges[-1]), xlabel="", ylabel="Reviews" if name in styles else "Pairs")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        if name != shown[-1][0]:
            axes.tick_params(labelbottom=False)
    panels[shown[-1][0], "f1"].set_xlabel("BERTScore F1, not rescaled")
    analysed = table.filter(pl.col("analysed"))["review_id"].n_unique()
    note = (
        "Each rewritten review is compared with its original. A review is analysed when all of its variants reach the "
        f"threshold: {analysed:,} are."
    )
    if not scores[RANDOM_PAIRS].size:
        note += " The table holds no random pairs."
    handle = Line2D([], [], color=DARK, ls="--", lw=1.2, label=f"threshold of acceptance, F1 = {threshold:g}")
    return finish(figure, title, note, [handle])


def _panel_title(table: pl.DataFrame, name: str, label: str, scores: np.ndarray) -> str:
    """The variant's label with its median and how many reviews the threshold accepts."""
    title = f"{label}: median {np.median(scores):.3f}"
    if name == RANDOM_PAIRS:
        return f"{title}, {scores.size:,} pair" + ("s" if scores.size > 1 else "")
    accepted = table.filter(pl.col("variant") == name)["accepted"].sum()
    return f"{title}, {accepted:,} of {scores.size:,} accepted ({100 * accepted / scores.size:.1f} %)"


def _bin_edges(values: np.ndarray) -> np.ndarray:
    """Equal bins over all values with some room at both ends."""
    room = max(0.02, 0.03 * (values.max() - values.min()))
    return np.linspace(values.min() - room, values.max() + room, _N_BINS + 1)
