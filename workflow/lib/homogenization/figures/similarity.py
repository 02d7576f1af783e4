"""The figure of the similarity of each variant to the original, with the threshold and pairs of random reviews."""

import textwrap

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from homogenization.figures.grammar import ONE, Panels, handle
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, GREY, LIGHT, STRONG, variant_styles
from homogenization.names.variants import RANDOM_PAIRS

_N_BINS = 40


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table similarity: one histogram above another, on one horizontal axis.

    Variants without scores are left out.
    """
    table = tables["similarity"]
    variants = names_of(shown.rewritten)
    scored = table.filter(pl.col("f1").is_finite(), pl.col("variant").is_in([*variants, RANDOM_PAIRS]))
    require_rows(scored, shown, f"variants {', '.join(variants)}", table["variant"])
    styles = variant_styles(shown.rewritten)
    rows = [*shown.rewritten, (RANDOM_PAIRS, "Random pairs of originals")]
    rows = [(name, label) for name, label in rows if name in set(scored["variant"])]
    edges = _bin_edges(np.append(scored["f1"].to_numpy(), shown.threshold))
    panels = Panels(ONE, ("variant", [(name, "") for name, _ in rows]), height=1.35)
    for name, label in rows:
        scores = scored.filter(variant=name)["f1"].to_numpy()
        axes = panels.axes[name, ""]
        colour = styles[name].colour if name in styles else GREY
        counts, _ = np.histogram(scores, edges)
        heights = np.append(counts, counts[-1])
        steps = axes.fill_between(edges, 0, heights, step="post", fc=(colour, 0.5), ec=colour, lw=LIGHT)
        steps.sticky_edges.y.append(0)  # no room below the steps
        axes.axvline(shown.threshold, color=DARK, ls="--", lw=STRONG)
        title_lines = textwrap.fill(_panel_title(table, name, label, scores), 78)
        axes.set_title(title_lines, loc="left", weight="normal")
        axes.set_xlim(edges[0], edges[-1])
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    panels.label("BERTScore F1, not rescaled", {name: "Reviews" if name in styles else "Pairs" for name, _ in rows})
    note = (
        "Each rewritten review is compared with its original. A comparison of two variants has the reviews that are "
        "accepted in both; every original is accepted."
    )
    missing = [label for name, label in shown.rewritten if name not in set(scored["variant"])]
    if missing:
        note += f" No review was rewritten: {', '.join(missing)}."
    if RANDOM_PAIRS not in dict(rows):
        note += " The table holds no random pairs."
    threshold = handle(f"threshold of acceptance, F1 = {shown.threshold:g}", ls="--", lw=STRONG)
    return panels.finish(shown.title, note, [threshold])


def _panel_title(table: pl.DataFrame, name: str, label: str, scores: np.ndarray) -> str:
    """The label of the variant, its median, and the number of reviews that the threshold accepts."""
    title = f"{label}: median {np.median(scores):.3f}"
    if name == RANDOM_PAIRS:
        return f"{title}, {scores.size:,} pair" + ("s" if scores.size > 1 else "")
    accepted = table.filter(pl.col("variant") == name)["accepted"].sum()
    return f"{title}, {accepted:,} of {scores.size:,} rewritten reviews accepted ({100 * accepted / scores.size:.1f} %)"


def _bin_edges(values: np.ndarray) -> np.ndarray:
    """Equal bins over all values with some room at both ends."""
    room = max(0.02, 0.03 * (values.max() - values.min()))
    return np.linspace(values.min() - room, values.max() + room, _N_BINS + 1)
