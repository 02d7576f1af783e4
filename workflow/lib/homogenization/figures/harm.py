"""The figure of homogenization and harm: how much more alike a condition makes tokens, against what that costs.

Rows are models and measures of likeness, columns kinds of harm; a point is a condition, with intervals both ways.
"""

from itertools import cycle

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.consequences.schemas import HARM_SCHEMA
from homogenization.figures.changed_attention import pattern_label
from homogenization.figures.grammar import Panels, handle, mark_empty, tint_alike
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import (
    DARK,
    FINE,
    GREY,
    HAIR,
    OPEN,
    OTHER_CONDITIONS,
    PLACEBO_MARKERS,
    LineStyle,
    pattern_styles,
)
from homogenization.figures.words import counted

COLUMNS = {"harm": HARM_SCHEMA}
_LIKENESS = {  # column of the table -> label, sign of the change where tokens grow alike
    "cosine": ("Δ mean cosine", 1),
    "rank": ("Δ centred effective rank", -1),
}
_HARM = {
    "kl": "KL of the next token (nats)",
    "probe": "Δ log-loss of the probe (nats)",
    "shift": "Δ shift of the perturbed text",
}
_SMALLEST, _LARGEST = 4.0, 8.0  # markers of the least and the largest strength, points
_STEERING, _TEMPLATE = "steering", "template"
_RING = {"ls": "", "marker": "o", "mfc": "none", "ms": 11, "mew": 0.7}  # another token took over the sink


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table harm."""
    harm = require_rows(rows_of(tables["harm"], shown, ("model",)), shown, "", tables["harm"]["model"])
    table = harm.with_columns(_name().alias("name"))
    styles = _styles(table)
    markers = _marker_sizes(table["strength"])
    models = named_in(shown.models, table["model"])
    rows = {f"{model} {likeness}": (model, likeness) for model, _ in models for likeness in _LIKENESS}
    labels = dict(models)
    named = [(row, labels[model]) for row, (model, _) in rows.items()]
    panels = Panels(("", [(cost, "") for cost in _HARM]), ("", named), height=2.5)
    for (row, cost), axes in panels.axes.items():
        model, likeness = rows[row]
        _draw_panel(axes, table.filter(model=model), (likeness, cost), styles, markers)
        axes.set(xlabel=_LIKENESS[likeness][0], ylabel=_HARM[cost])
    handles = [
        handle("placebo: " * style.control + pattern_label(name), style, ls="", **OPEN if style.control else {})
        for name, style in styles.items()
    ]
    if (table["n_sink_moved"] > 0).any():
        handles.append(handle("another token took over the sink", **_RING, mec=GREY))
    return panels.finish(shown.title, _note(table), handles)


def _name() -> pl.Expr:
    """The pattern of steering or template; kind and pattern of another condition; blocks where they are not all."""
    whole = pl.col("kind").is_in([_STEERING, _TEMPLATE])
    name = pl.when(whole).then("pattern").otherwise(pl.concat_str("kind", pl.lit(" "), "pattern"))
    some = (pl.col("kind") == _STEERING) & (pl.col("blocks") != "all")
    return pl.when(some).then(pl.concat_str(name, pl.lit(", blocks "), "blocks")).otherwise(name)


def _styles(table: pl.DataFrame) -> dict[str, LineStyle]:
    """The style of each name: of steering that of its pattern in every figure; a placebo is grey and open."""
    known = {name: (kind, placebo) for name, kind, placebo in table.select("name", "kind", "placebo").unique().rows()}
    styles = pattern_styles(name for name, (kind, _) in known.items() if kind in (_STEERING, _TEMPLATE))
    styles |= dict(zip(sorted(known.keys() - styles), cycle(OTHER_CONDITIONS), strict=False))
    placebos = zip((name for name in styles if known[name][1]), cycle(PLACEBO_MARKERS), strict=False)
    greys = {name: LineStyle(GREY, styles[name].dashes, marker, True) for name, marker in placebos}
    return {name: style for name, style in styles.items() if name not in greys} | greys


def _marker_sizes(strengths: pl.Series) -> dict[float, float]:
    """Size in points of the marker of each strength; infinity stands for a condition without one."""
    ordered = strengths.drop_nulls().abs().unique().sort().to_list()
    sizes = dict(zip(ordered, np.linspace(_SMALLEST, _LARGEST, len(ordered)), strict=True))
    return sizes | {-strength: size for strength, size in sizes.items()} | {np.inf: (_SMALLEST + _LARGEST) / 2}


def _draw_panel(
    axes: Axes,
    table: pl.DataFrame,
    columns: tuple[str, str],
    styles: dict[str, LineStyle],
    markers: dict[float, float],
) -> None:
    """A point for each condition, larger for a larger strength; a line joins those of a pattern, from no dose on."""
    likeness, cost = columns
    table = table.filter(pl.col(likeness).is_finite(), pl.col(cost).is_finite())
    if table.is_empty():
        mark_empty(axes, "no next token" if cost == "kl" else "not measured", ticks=False)
        return
    axes.axhline(0, color=DARK, lw=FINE)
    axes.axvline(0, color=DARK, lw=FINE)
    for name, style in styles.items():
        rows = table.filter(name=name).sort("strength")
        if rows.is_empty():
            continue
        x, y = rows[likeness].to_numpy(), rows[cost].to_numpy()
        sizes = [markers[strength] for strength in rows["strength"].fill_null(np.inf)]
        reach = {"xerr": _reach(rows, likeness), "yerr": _reach(rows, cost)}
        axes.errorbar(x, y, **reach, fmt="none", ecolor=style.colour, elinewidth=FINE, alpha=0.7)
        if rows["kind"].is_in([_STEERING, _TEMPLATE]).all():
            doses = np.array([0.0, *rows["strength"]])
            path = np.array([[0.0, *x], [0.0, *y]])[:, np.argsort(doses)]
            axes.plot(*path, color=style.colour, ls=style.dashes, lw=HAIR, alpha=0.6)
        open_ = OPEN if style.control else {}
        for *place, size in zip(x, y, sizes, strict=True):
            axes.plot(*place, ls="", marker=style.marker, color=style.colour, label=name, ms=size, **open_)
        moved = rows["n_sink_moved"].to_numpy() > 0
        axes.plot(x[moved], y[moved], **_RING, mec=style.colour)
    tint_alike(axes, _LIKENESS[likeness][1], along_x=True)


def _reach(rows: pl.DataFrame, column: str) -> list[np.ndarray]:
    """How far the intervals of a column go below its values, and above."""
    below, above = rows[column] - rows[f"{column}_low"], rows[f"{column}_high"] - rows[column]
    return [below.clip(0).to_numpy(), above.clip(0).to_numpy()]


def _doses(table: pl.DataFrame) -> str:
    """The strengths of steering in brackets, or nothing."""
    strengths = table.filter(kind=_STEERING)["strength"].drop_nulls().unique().sort().to_list()
    return f" (λ = {', '.join(f'{strength:g}' for strength in strengths)})" if strengths else ""


def _note(table: pl.DataFrame) -> str:
    perturbations = ", ".join(table["perturbation"].drop_nulls().unique().sort()).replace("_", " ")
    return (
        "Point: change by a condition from the run with untouched attention, mean over layers and reviews; lines: its "
        "95 % intervals. A pattern's line leads from the untouched run (0, 0) over its "
        f"strengths{_doses(table)}: the larger the marker, the stronger. Tinted: the side where tokens are more alike. "
        f"Perturbed text: {perturbations or 'none'}. n = {counted(table['n_reviews'])}. A ring marks "
        "conditions in which another token took over the sink in some of them. Scales differ between panels."
    )
