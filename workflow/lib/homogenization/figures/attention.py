"""Figures of attention: what tokens receive by position and block, how positional heads are, and secondary sinks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator

from homogenization.figures.grammar import (
    Panels,
    colour_bar,
    draw_lines,
    handle,
    handles_of,
    mark_empty,
    set_log_scale,
)
from homogenization.figures.shown import Shown, Tables, accepted, named_in, required, rows_of
from homogenization.figures.style import (
    DICTIONARY,
    EMPTY,
    GREY,
    LIGHT,
    REFERENCE,
    SHARES,
    STRONG,
    LineStyle,
    diverging,
    variant_styles,
)
from homogenization.figures.words import counted

_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
_HALVES = [0, 0.5, 1], ["0", "0.5", "1"]


def attention_profile(tables: Tables, shown: Shown) -> Figure:
    """Attention received by position in the review: a row for each model, a column for each of a few blocks."""
    table = required(tables["attention"], shown, "attention received")
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    styles = variant_styles(shown.variants, set(table["variant"]))
    blocks = {model: _chosen_blocks(table.filter(model=model)["layer"]) for model, _ in shown.models}
    columns = [(str(index), "") for index in range(max(map(len, blocks.values())))]
    panels = Panels(("", columns), ("model", shown.models), height=2.3, most_columns=len(_FRACTIONS), share_y=True)
    for (model, column), axes, of_model in panels.parts(table):
        if int(column) < len(blocks[model]):
            _draw_profile(axes, of_model, blocks[model][int(column)], styles)
        elif column == "0":
            mark_empty(axes, "no attention", ticks=False)
        else:  # a model with fewer blocks leaves panels empty
            axes.set_axis_off()
    panels.label("Position in the review", "Attention received by a token")
    handles = [*handles_of(reviews.variants, styles), *reviews.left_out]
    if table["uniform"].is_finite().any():
        handles.append(handle("uniform attention", **REFERENCE))
    note = (
        f"Line: mean, band: its 95 % confidence interval over reviews; {reviews.counts}. Position 0: the first token, "
        "which is left out here, 1: the last. A token receives the sum over all queries, averaged over heads; dashed: "
        "what it would receive if each query spread its attention evenly over the tokens that it can see."
    )
    return panels.finish(shown.title, note, handles)


def _chosen_blocks(layers: pl.Series) -> list[int]:
    """The first and last block and those nearest to a quarter, half and three quarters of the depth."""
    present = layers.unique().sort().to_numpy()
    if present.size == 0:
        return []
    wanted = [present[np.abs(present - fraction * present[-1]).argmin()] for fraction in _FRACTIONS]
    return sorted({int(block) for block in wanted})


def _draw_profile(axes: Axes, of_model: pl.DataFrame, block: int, styles: Mapping[str, LineStyle]) -> None:
    rows = of_model.filter(layer=block)
    axes.set_title(f"block {block} (depth {rows['depth'][0]:.2f})", weight="normal")
    values = ("received", "ci_low", "ci_high")
    draw_lines(axes, rows, styles, x="relative_position", y=values, markers=5, ms=3)
    uniform = rows.filter(pl.col("uniform").is_finite()).group_by("relative_position").agg(pl.col("uniform").mean())
    along = uniform.sort("relative_position")
    axes.plot(along["relative_position"], along["uniform"], **REFERENCE, label="uniform")
    axes.set_xlim(0, 1)
    axes.set_xticks(*_HALVES)
    drawn = of_model.select(pl.concat_list("received", "uniform").explode()).to_series()
    positive = drawn.filter(drawn.is_finite() & (drawn > 0))
    if len(positive) and positive.max() >= 10 * positive.min():
        set_log_scale(axes)


_LEAST_LIMIT = 0.16  # doublings; below it, differences are noise
_FINE_RATIOS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6)


def attention_heatmap(tables: Tables, shown: Shown) -> Figure:
    """Attention received over position and layer, as a ratio to uniform attention: a column for each variant.

    Each model, a row, has a colour scale of its own: encoders move attention by tenths, decoders manyfold.
    """
    table = required(tables["attention"], shown, "attention received")
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table.with_columns(excess=(pl.col("received") / pl.col("uniform")).log(2))
    limits = {model: _limit(table.filter(model=model)["excess"].to_numpy()) for model, _ in shown.models}
    panels = Panels(("variant", reviews.variants), ("model", shown.models), height=2.3, share_y=True)
    meshes: dict[str, QuadMesh] = {}
    for (model, _), axes, rows in panels.parts(table, "no attention"):
        axes.grid(False)
        meshes[model] = _draw_heat(axes, rows, limits[model])
    for model, mesh in meshes.items():
        of_model = [axes for (name, _), axes in panels.axes.items() if name == model]
        first = of_model[0].get_subplotspec().rowspan.start  # variants that continue below have the same scale
        _add_colour_bar(mesh, [axes for axes in of_model if axes.get_subplotspec().rowspan.start == first])
    panels.label("Position in the review", "Relative depth of the block")
    note = (
        "Colour: mean attention received by a token, divided by what it would receive under uniform attention "
        f"(logarithmic, a scale for each model; white: the same; grey: no tokens); {reviews.counts}. Position 0: "
        "the first token, which is left out here, 1: the last."
    )
    return panels.finish(shown.title, note, reviews.left_out)


def _limit(excess: np.ndarray) -> float:
    """Doublings at the ends of a model's scale.

    The few most extreme cells get the colour of the end, so that they do not bleach the others.
    """
    finite = np.abs(excess[np.isfinite(excess)])
    return max(_LEAST_LIMIT, float(np.quantile(finite, 0.99))) if finite.size else 1.0


def _draw_heat(axes: Axes, rows: pl.DataFrame, limit: float) -> QuadMesh:
    cells = rows.pivot(on="bin", index="layer", values="excess", sort_columns=False).sort("layer")
    bins = sorted(cells.columns[1:], key=int)
    depths = (np.arange(len(cells) + 1) + cells["layer"][0] - 0.5) / cells["layer"][-1]
    look = {"cmap": diverging(EMPTY), "rasterized": True, "vmin": -limit, "vmax": limit}
    values = np.ma.masked_invalid(cells.select(bins).to_numpy())
    mesh = axes.pcolormesh(np.linspace(0, 1, len(bins) + 1), depths, values, **look)
    axes.set_facecolor(EMPTY)
    axes.set_xticks(*_HALVES)
    axes.set_yticks([0.25, 0.5, 0.75, 1])
    return mesh


def _add_colour_bar(mesh: QuadMesh, axes: list[Axes]) -> None:
    """A colour bar labelled with ratios rather than with their logarithms."""
    bar = colour_bar(mesh, axes, "Received / uniform", extend="both", pad=0.02, fraction=0.05, aspect=12)
    bar.minorticks_off()
    limit = mesh.norm.vmax
    step = max(1, int(limit // 3))
    doublings = np.arange(step, limit + 1e-9, step)
    ratios = np.concatenate([2.0 ** -doublings[::-1], [1.0], 2.0**doublings]) if limit >= 1 else _FINE_RATIOS
    ratios = [ratio for ratio in ratios if abs(np.log2(ratio)) <= limit + 1e-9]
    bar.ax.yaxis.set_major_locator(FixedLocator(np.log2(ratios)))
    bar.ax.yaxis.set_major_formatter(FixedFormatter([f"{ratio:.3g}×" for ratio in ratios]))


_HEAT = {"positional_mass": "Positional mass", "ratio": "Share of selectivity"}
_MEANS = "means"
_TOTAL, _NULL = LineStyle(GREY), LineStyle(GREY, ":")


def positional_heads(tables: Tables, shown: Shown) -> Figure:
    """How positional each head is: a row for each model; two heat maps of heads by block, and means over heads."""
    table = required(tables["positional"], shown, "positional attention")
    variants, models = named_in(shown.variants, table["variant"]), named_in(shown.models, table["model"])
    styles = variant_styles(variants)
    panels = Panels(("", [*_HEAT.items(), (_MEANS, "Mean over heads")]), ("model", models), height=3.0)
    heat = []
    for (model, column), axes, rows in panels.parts(table):
        if column == _MEANS:
            _draw_means(axes, rows, styles)
        else:
            heat.append(axes)
            first = next(name for name in styles if name in rows["variant"])
            mesh = _draw_heads(axes, rows.filter(variant=first), column)
        axes.yaxis.get_major_locator().set_params(integer=True)
        if column == "positional_mass":
            axes.set_ylabel("Block")
        if model == models[-1][0]:
            axes.set_xlabel("Total variation from uniform" if column == _MEANS else "Head")
    colour_bar(mesh, heat, pad=0.02, fraction=0.05, aspect=25)
    handles = handles_of(variants, styles)
    handles += [handle("total mass", _TOTAL, lw=LIGHT), handle("null: keys in random order", _NULL, lw=STRONG)]
    note = (
        f"Heat maps: {variants[0][1]}. Positional mass: total variation of uniform attention and of the attention that "
        "the places of query and key predict, cells chosen on one half of the reviews and summed on the other. Share "
        "of selectivity: positional mass over that of the attention itself (total mass). Lines: means over the heads "
        f"of a block. n = {counted(table['n_reviews'])}, accepted or not."
    )
    return panels.finish(shown.title, note, handles)


def _draw_heads(axes: Axes, rows: pl.DataFrame, number: str) -> QuadMesh:
    """A cell for each block (from below) and head."""
    grid = np.full((rows["block"].max(), rows["head"].max()), np.nan)
    grid[rows["block"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[number].to_numpy()
    axes.grid(False)
    below, left = (np.arange(size + 1) + 0.5 for size in grid.shape)
    mesh = axes.pcolormesh(left, below, np.ma.masked_invalid(grid), cmap=SHARES, vmin=0, vmax=1, rasterized=True)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return mesh


def _draw_means(axes: Axes, rows: pl.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """Lines over the blocks, which run upwards as in the heat maps."""
    means = rows.group_by("variant", "block").agg(pl.col("positional_mass", "total_mass", "null_mass").mean())
    means = means.sort("block")
    for name, style in styles.items():
        of_variant = means.filter(variant=name)
        axes.plot(of_variant["total_mass"], of_variant["block"], color=GREY, lw=LIGHT, label="total mass")
        axes.plot(of_variant["null_mass"], of_variant["block"], color=GREY, lw=LIGHT, ls=":", label="null")
        look = {"color": style.colour, "ls": style.dashes, "marker": style.marker, "ms": 3, "label": name}
        axes.plot(of_variant["positional_mass"], of_variant["block"], **look)
    axes.set_ylim(0.5, rows["block"].max() + 0.5)
    axes.set_xlim(min(-0.05, means["null_mass"].min() or 0), 1)


_CURVES, _WEIGHTS, _RECEIVED = "curves", "weights", "received"
_COLUMNS = (
    (_CURVES, "What positions predict"),
    (_WEIGHTS, "Weights of the dictionary"),
    (_RECEIVED, "Attention received"),
)
_MOST_TICKS = 20
_DEPTHS = (0.0, 1 / 3, 2 / 3, 1.0)  # blocks whose curves are drawn


def positional_templates(tables: Tables, shown: Shown) -> Figure:
    """Templates of positional attention, the dictionary's weights by depth, and attention received, of one variant.

    The variant is the first that there is; a row for each model.
    """
    present = set(required(tables["templates"], shown, "templates of attention")["variant"])
    variant, label = next(pair for pair in shown.variants if pair[0] in present)
    templates, heads, received = (
        rows_of(tables[name], shown, variant=variant) for name in ("templates", "positional", "attention")
    )
    models = named_in(shown.models, templates["model"])
    panels = Panels(("", _COLUMNS), ("model", models), height=3.0)
    for model, _ in models:
        of_model = templates.filter(model=model)
        blocks = _styles_of_blocks(of_model["block"])
        _draw_curves(panels.axes[model, _CURVES], of_model, blocks)
        _draw_weights(panels.axes[model, _WEIGHTS], heads.filter(model=model))
        _draw_received(panels.axes[model, _RECEIVED], received.filter(model=model), blocks)
    present_weights = [look for name, look in DICTIONARY.items() if heads[f"weight_{name}"].sum() > 0]
    note = (
        f"{label}, mean over heads; lines: the blocks named, from the first (light) to the last (dark). Left: mean "
        "attention to the first key, the second, and by distance, over uniform attention of the same queries, of the "
        "bin that holds most queries. Middle: non-negative least-squares weights by block. Right: attention received "
        "over uniform attention; 0: the first token, left out here, 1: the last. "
        f"n = {counted(heads['n_reviews'])} on the left and in the middle, accepted or not."
    )
    handles = [Patch(color=colour, label=label) for colour, label in present_weights]
    return panels.finish(shown.title, note, handles)


def _styles_of_blocks(blocks: pl.Series) -> dict[int, LineStyle]:
    """Blocks at a few depths with their styles, the darker the deeper."""
    present = blocks.unique().sort()
    chosen = sorted({present[round(depth * (len(present) - 1))] for depth in _DEPTHS})
    shades = np.linspace(0.25, 0.95, len(chosen))
    return {block: LineStyle(to_hex(colormaps[SHARES](shade))) for block, shade in zip(chosen, shades, strict=True)}


def _draw_curves(axes: Axes, rows: pl.DataFrame, blocks: Mapping[int, LineStyle]) -> None:
    """Attention over uniform by cell, in the bin that holds most queries."""
    most = rows.sort("n_queries", descending=True, maintain_order=True)["query_bin"][0]
    rows = rows.filter(query_bin=most)
    cells = _in_order(rows["cell"].unique(maintain_order=True))
    places = {cell: place for place, cell in enumerate(cells)}
    rows = rows.with_columns(place=pl.col("cell").replace_strict(places), ratio=pl.col("attention") / pl.col("uniform"))
    _draw_ratios(axes, rows, blocks, "block", x="place", marker="o", ms=3)
    step = 1 if len(cells) <= _MOST_TICKS else 2
    axes.set_xticks(range(0, len(cells), step), [_cell_label(cell) for cell in cells[::step]])
    axes.tick_params(axis="x", labelrotation=90, labelsize=7)
    axes.set_ylabel("Attention / uniform (log scale)")
    axes.set_xlabel(f"Key, for queries {2**most} to {2 ** (most + 1) - 1}")
    axes.legend(frameon=False, fontsize=8, loc="best")


def _draw_ratios(axes: Axes, rows: pl.DataFrame, blocks: Mapping[int, LineStyle], hue: str, **look: Any) -> None:
    """A line for each of a few blocks on a logarithmic axis, compared with uniform attention."""
    for block, style in blocks.items():
        draw_lines(axes, rows, {block: style}, y=("ratio",), hue=hue, markers=len(rows), label=f"block {block}", **look)
    axes.axhline(1, **REFERENCE)
    set_log_scale(axes)


def _in_order(cells: Sequence[str]) -> list[str]:
    """Keys 0 and 1, then keys before the query from far to near, then keys behind it from near to far."""

    def least_distance(cell: str) -> int:
        return int(cell.split("_")[1])

    keys, before, behind = ([cell for cell in cells if cell.startswith(side)] for side in ("key", "distance", "ahead"))
    return [*keys, *sorted(before, key=least_distance, reverse=True), *sorted(behind, key=least_distance)]


def _cell_label(cell: str) -> str:
    side, distance = cell.split("_", 1)
    if side == "key":
        return ("first", "second")[int(distance)]
    low, _, high = distance.partition("_")
    sign = "−" if side == "distance" and low != "0" else "+" if side == "ahead" else ""
    return sign + {"": low, "up": f"{low} …"}.get(high, f"{low}–{high}")


def _draw_weights(axes: Axes, rows: pl.DataFrame) -> None:
    """Stacked shares of the dictionary, mean over heads, by block."""
    columns = [f"weight_{name}" for name in DICTIONARY]
    means = rows.group_by("block").agg(pl.col(columns).fill_nan(None).mean()).sort("block").fill_null(0)
    below = np.zeros(len(means))
    for name, (colour, label) in DICTIONARY.items():
        weights = means[f"weight_{name}"].to_numpy()
        axes.bar(means["block"], weights, 1.0, bottom=below, color=colour, lw=0, label=label)
        below += weights
    axes.set(ylim=(0, 1), xlim=(0.5, means["block"].max() + 0.5), xlabel="Block", ylabel="Share of the attention")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(False)


def _draw_received(axes: Axes, rows: pl.DataFrame, blocks: Mapping[int, LineStyle]) -> None:
    """Attention received over uniform attention, by position."""
    rows = rows.with_columns(ratio=pl.col("received") / pl.col("uniform")).filter(pl.col("ratio").is_finite())
    if rows.is_empty():
        mark_empty(axes, "no attention")
        return
    _draw_ratios(axes, rows, blocks, "layer", x="relative_position")
    axes.set(xlim=(0, 1), xlabel="Position in the review", ylabel="Received / uniform (log scale)")


_KINDS = (
    ("attention", "More than 10 × uniform attention"),
    ("massive", "Massive: > 10 × the median norm over the middle"),
    ("long", "> 10 × the median norm in fewer blocks"),
)
_MOST = 8  # tokens of a panel
_BLANKS = {" ": "space", "\n": "line break", "": "nothing"}
_SPREAD = 0.5  # of a lane, over which the markers of all variants are spread


def sinks(tables: Tables, shown: Shown) -> Figure:
    """The share of reviews in which a token besides the first is a sink, by its text: a marker for each variant.

    A study without any secondary sink has a figure that says so.
    """
    table = rows_of(tables["sinks"], shown)
    variants = named_in(shown.variants, table["variant"])
    styles = variant_styles(variants)
    panels = Panels(("kind", _KINDS), ("model", shown.models), height=2.9)
    for (model, _), axes, rows in panels.parts(table):
        if rows.is_empty():
            mark_empty(axes, "none", ticks=False)
        else:
            _draw_sinks(axes, rows, styles)
        if model == shown.models[-1][0]:
            axes.set_xlabel("Share of the reviews")
    note = (
        "A token besides the first draws attention in a block where it receives more than ten times as much as under "
        "uniform attention and as the mean token; it is massive where its norm is more than ten times the review's "
        "median after at least half of the blocks at depths from .25 to .75, and long where it is so after fewer. In "
        "brackets: the median of its positions (the first token is 0) and of the first and last block, over "
        "all variants."
    )
    if not table.is_empty():  # a table without any such token says nothing of the reviews that were read
        note += f" n = {counted(table['n_read'])}, accepted in their variant."
    return panels.finish(shown.title, note, handles_of(variants, styles))


def _draw_sinks(axes: Axes, rows: pl.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """A lane for any token and for each of the most frequent texts, the former uppermost."""
    medians = (pl.col(name).median() for name in ("position", "first_block", "last_block"))
    lanes = rows.group_by("token").agg(pl.col("n_reviews").sum().alias("count"), *medians)
    order = (pl.col("token").is_null(), pl.col("count"), pl.col("token"))
    lanes = lanes.sort(*order, descending=[True, True, False]).head(_MOST + 1)
    for lane, token in enumerate(lanes["token"]):
        for index, (name, style) in enumerate(styles.items()):
            place = lane + _SPREAD * ((index + 0.5) / len(styles) - 0.5)
            found = rows.filter(pl.col("token").eq_missing(pl.lit(token, dtype=pl.String)), variant=name)
            look = {"ls": "", "color": style.colour, "marker": style.marker, "label": name}
            axes.plot(found["n_reviews"] / found["n_read"], [place] * len(found), **look)
    labels = []
    for token, _, position, first_block, last_block in lanes.iter_rows():
        quoted = _BLANKS.get(token, f"“{token}”").replace("$", r"\$")  # $ opens mathematics
        name = "any token" if token is None else quoted
        labels.append(f"{name} ({position:.0f}; {first_block:.0f}–{last_block:.0f})")
    axes.set_yticks(range(len(lanes)), labels)
    axes.set(ylim=(len(lanes) - 0.5, -0.5), xlim=(-0.03, 1.03))
