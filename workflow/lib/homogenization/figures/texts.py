"""Figures of the texts: how similar variants are to the originals, where key phrases stand, and balance."""

import textwrap
from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from homogenization.figures.grammar import ONE, Panels, handle, handles_of, mark_empty
from homogenization.figures.shown import Named, Shown, Tables, named_in, names_of, required
from homogenization.figures.style import (
    ALIKE,
    DARK,
    EMPTY,
    GREY,
    LIGHT,
    REFERENCE,
    STRONG,
    WHITE,
    LineStyle,
    variant_styles,
)
from homogenization.figures.words import counted
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.tables.comparisons import BALANCE_SCHEMA

COLUMNS = {"balance": BALANCE_SCHEMA}
_N_BINS = 40


def similarity(tables: Tables, shown: Shown) -> Figure:
    """Similarity of each variant to the original, with the threshold and pairs of random reviews.

    One histogram stands above another, on one horizontal axis. Variants without scores are left out.
    """
    table, variants = tables["similarity"], names_of(shown.rewritten)
    scored = table.filter(pl.col("f1").is_finite(), pl.col("variant").is_in([*variants, RANDOM_PAIRS]))
    required(scored, shown, f"variants {', '.join(variants)}", of=(), told=table["variant"])
    styles = variant_styles(shown.rewritten)
    rows = named_in([*shown.rewritten, (RANDOM_PAIRS, "Random pairs of originals")], scored["variant"])
    values = np.append(scored["f1"].to_numpy(), shown.threshold)
    room = max(0.02, 0.03 * (values.max() - values.min()))
    edges = np.linspace(values.min() - room, values.max() + room, _N_BINS + 1)
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
        words = textwrap.fill(_scores_in_words(table, name, label, scores), int(12 * panels.figure.get_figwidth()))
        axes.set_title(words, loc="left", weight="normal")
        axes.set_xlim(edges[0], edges[-1])
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    panels.label("BERTScore F1, not rescaled", {name: "Reviews" if name in styles else "Pairs" for name, _ in rows})
    missing = [label for name, label in shown.rewritten if name not in dict(rows)]
    note = f"No review was rewritten: {', '.join(missing)}." if missing else ""
    threshold = handle(f"threshold of acceptance, F1 = {shown.threshold:g}", ls="--", lw=STRONG)
    return panels.finish(shown.title, note, [threshold])


def _scores_in_words(table: pl.DataFrame, name: str, label: str, scores: np.ndarray) -> str:
    """The label of the variant, its median, and the number of reviews that the threshold accepts."""
    title = f"{label}: median {np.median(scores):.3f}"
    if name == RANDOM_PAIRS:
        return f"{title}, {scores.size:,} pair" + ("s" if scores.size > 1 else "")
    accepted = table.filter(variant=name)["accepted"].sum()
    return f"{title}, {accepted:,} of {scores.size:,} rewritten reviews accepted ({100 * accepted / scores.size:.1f} %)"


_N_INNER = 8
_PLACES = np.array([-0.5, *range(1, _N_INNER + 1), _N_INNER + 1.5])  # the two ends stand apart
_TICKS = {-0.5: "start\n(0)", (_N_INNER + 1) / 2: "0.5", _N_INNER + 1.5: "end\n(1)"}


def placement(tables: Tables, shown: Shown) -> Figure:
    """Where key phrases stood in their sentences and where each variant put them: shares of phrases by position."""
    # of a variant that a language model could not write there are none
    wanted = f"variants {', '.join(names_of(shown.variants))}"
    table = required(tables["placement"], shown, wanted, of=("variant",), told="variant")
    styles = variant_styles(shown.variants)
    moved = named_in(shown.variants, shown.placed)
    panels = Panels(("variant", moved), height=3.0, share_y=True)
    for (_, name), axes, rows in panels.parts(table.drop_nulls(["original_position", "position"]), "no key phrases"):
        before, after = (_shares(rows[column].to_numpy()) for column in ("original_position", "position"))
        axes.bar(_PLACES, before, width=0.9, color=EMPTY, label="before")
        axes.bar(_PLACES, after, width=0.42, color=styles[name].colour, label="after")
        axes.set_xticks(list(_TICKS), list(_TICKS.values()))
        axes.grid(axis="x", visible=False)
    panels.label("Position in the sentence", "Key phrases (%)")
    counts = table.group_by("variant").agg(pl.len(), pl.col("review_id").n_unique(), pl.col("position").null_count())
    note = f"{counted(counts['len'], 'key phrase')} in {counted(counts['review_id'])} for each variant; "
    note += f"{counted(counts['position'], 'phrase')} without a position, which are whole sentences"
    looks = {"the same phrases in the original review": EMPTY, "in the variant (in its colour)": DARK}
    return panels.finish(shown.title, note, [Patch(color=colour, label=label) for label, colour in looks.items()])


def _shares(positions: np.ndarray) -> np.ndarray:
    """Percentage of positions that are exactly 0, in each of the equal inner bins, and exactly 1."""
    inner = positions[(positions > 0) & (positions < 1)]
    counts = np.histogram(inner, bins=np.linspace(0, 1, _N_INNER + 1))[0]
    counts = np.concatenate([[np.sum(positions <= 0)], counts, [np.sum(positions >= 1)]])
    return 100 * counts / positions.size


_LABELS = {
    "displacement": "displacement of phrases",
    "first_word_changed": "first word changed",
    "tokens": "tokens",
    "f1": "F1",
    "loss_per_word": "loss per word",
}
_ROW, _AROUND = 0.26, 0.75  # inches of a covariate, and of title and axis
_FURTHER_TICKS = (1, 10, 100)
Covariates = Sequence[tuple[str, str | None, str]]  # covariate, model, label


def balance(tables: Tables, shown: Shown) -> Figure:
    """Balance (a Love plot): how far each control is from its variant in what else may move a metric.

    A panel is a variant, a row a covariate, a point a control.
    """
    names, whole = names_of(shown.variants), tables["balance"]
    of_models = pl.col("model").is_null() | pl.col("model").is_in(names_of(shown.models))
    compared = whole.filter(of_models, pl.col("control").is_in(names))
    table = required(compared, shown, f"variants {', '.join(names)}", of=("variant",), told=whole["variant"])
    covariates = _covariates(table, shown.models)
    height = _ROW * len(covariates) + _AROUND
    variants = named_in(shown.variants, table["variant"])
    panels = Panels(("variant", variants), height=height, most_columns=3, share_y=True)
    limit = _end_of_axis(table["smd"], shown.max_imbalance)
    for _, axes, rows in panels.parts(table):
        _set_axes(axes, covariates, shown.max_imbalance, limit)
        if not rows["smd"].is_not_nan().any():
            mark_empty(axes, "too few reviews")
        styles = variant_styles(shown.variants, set(rows["control"]))
        for index, (control, style) in enumerate(styles.items()):
            lane = 0.22 * (index - (len(styles) - 1) / 2)
            _draw_control(axes, rows.filter(control=control), covariates, style, (lane, shown.max_imbalance, limit))
    panels.label("Standardised difference", "Covariate")
    roles = dict(table.select("control", "role").iter_rows())
    labels = {name: f"{label} ({roles[name]} control)" if roles.get(name) else label for name, label in shown.variants}
    handles = handles_of(list(labels.items()), variant_styles(shown.variants, roles), ls="", ms=6)
    return panels.finish(shown.title, f"n = {counted(table['n_reviews'])}; ±{shown.max_imbalance:g} dashed", handles)


def _covariates(table: pl.DataFrame, models: Named) -> Covariates:
    """The rows that the table has values for, from the top."""
    present = set(table.select("covariate", "model").iter_rows())
    of_models = [(model, f", {label}") for model, label in models]
    return [
        (covariate, model, label + of_model)
        for covariate, label in _LABELS.items()
        for model, of_model in [(None, ""), *of_models]
        if (covariate, model) in present
    ]


def _end_of_axis(differences: pl.Series, bound: float) -> float:
    """Beyond all finite values, with room for infinite ones."""
    finite = differences.filter(differences.is_finite()).abs().max() or 0.0
    return 1.5 * max(finite, 2 * bound) * (2 if differences.is_infinite().any() else 1)


def _set_axes(axes: Axes, covariates: Covariates, bound: float, limit: float) -> None:
    """Lanes of covariates, and an axis that is linear within ±`bound`, which are marked, and logarithmic outside."""
    axes.set_xscale("symlog", linthresh=bound)
    axes.set(xlim=(-limit, limit), ylim=(len(covariates) - 0.5, -0.5))
    axes.axvspan(-bound, bound, color=ALIKE, zorder=0)
    axes.axvline(0, color=GREY, lw=LIGHT)
    for edge in (-bound, bound):
        axes.axvline(edge, **REFERENCE)
    ticks = [bound, *(tick for tick in _FURTHER_TICKS if 3 * bound < tick < limit)]
    axes.xaxis.set_major_locator(FixedLocator([*(-tick for tick in ticks), 0, *ticks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=8)
    axes.set_yticks(range(len(covariates)), [label for *_, label in covariates])


def _draw_control(
    axes: Axes, rows: pl.DataFrame, covariates: Covariates, style: LineStyle, places: tuple[float, float, float]
) -> None:
    """A marker for each covariate of a control; `places` are its lane, the bound and the limit of the axis."""
    lane, bound, limit = places
    found = {(covariate, model): smd for covariate, model, smd in rows.select("covariate", "model", "smd").rows()}
    for row, (covariate, model, _) in enumerate(covariates):
        smd = found.get((covariate, model), np.nan)
        if np.isnan(smd):
            continue
        place = np.clip(smd, -0.75 * limit, 0.75 * limit), row + lane
        fill = style.colour if abs(smd) > bound else WHITE
        look = {"color": style.colour, "mfc": fill, "ms": 6, "label": rows["control"][0], "clip_on": False}
        axes.plot(*place, style.marker, **look)
        if np.isinf(smd):
            side = {"va": "center", "ha": "left" if smd > 0 else "right", "fontsize": 9}
            axes.annotate("∞", place, (6 * np.sign(smd), 0), textcoords="offset points", **side)
