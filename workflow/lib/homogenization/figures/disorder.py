"""Disorder or position? Changes of metrics against changes of loss, at the output and over depth."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from homogenization.figures.grammar import Panels, Shown, Tables, draw_lines, legend_of, named_in
from homogenization.figures.style import BAND, DARK, DEPTH, GREY, STEPS, ZERO, LineStyle, variant_styles
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_VIEWS = {"cosine_anisotropy": "without_first", "normalized_effective_rank": "raw_without_first"}
_ROWS = {metric: f"Δ {describe_metric(metric).label}" for metric in _VIEWS}
_LADDER = LineStyle(STEPS[-1], "-", "D")


def changes(contrasts: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """Each variant's change of two metrics at each layer, and of the loss per word.

    Columns are variant, metric, layer, depth, model; n_reviews, mean, ci_low, ci_high of the change; loss, loss_low,
    loss_high; and `read_by`, whose loss it is: of a model without, the first of `models` that has any.
    """
    whole = contrasts.filter(pl.col("group").is_null(), pl.col("mean").is_finite(), minus=ORIGINAL)
    names = {"model": "read_by", "mean": "loss", "ci_low": "loss_low", "ci_high": "loss_high"}
    losses = whole.filter(metric="loss_per_word").rename(names).select("variant", *names.values())
    readers = [model for model in models if model in set(losses["read_by"])]
    read_by = {model: model if model in readers else next(iter(readers), None) for model in models}
    views = pl.DataFrame(list(_VIEWS.items()), ("metric", "view"), orient="row")
    rows = whole.filter(pl.col("layer").is_not_null(), point=RESIDUAL_STREAM).join(views, on=("metric", "view"))
    rows = rows.select("variant", "metric", "layer", "depth", "n_reviews", *names)
    rows = rows.with_columns(read_by=pl.col("model").replace_strict(read_by, return_dtype=pl.String))
    return rows.join(losses, on=("read_by", "variant"))


def disorder(tables: Tables, shown: Shown) -> Figure:
    """Change of two metrics at the output against the change of loss: the ladder is a line, others are points."""
    table = changes(tables["contrasts"], list(shown.models))
    table = table.filter(pl.col("layer") == pl.col("layer").max().over("model"))
    panels = _panels(table, shown, height=2.9)
    styles = variant_styles(shown.variants, shown.ladder) | dict.fromkeys(shown.ladder, _LADDER)
    for (metric, model), axes in panels.axes.items():
        of_panel = table.filter(model=model, metric=metric).sort("loss")
        if of_panel.is_empty():
            continue
        axes.axhline(0, **ZERO)
        axes.axvline(0, **ZERO)
        ladder = of_panel.filter(pl.col("variant").is_in(list(shown.ladder)))
        knots = {name: np.append(0.0, ladder[name]) for name in ("loss", "mean", "ci_low", "ci_high")}
        axes.fill_between(knots["loss"], knots["ci_low"], knots["ci_high"], color=_LADDER.colour, **BAND)
        axes.plot(knots["loss"], knots["mean"], color=_LADDER.colour, label="ladder")
        for row in of_panel.iter_rows(named=True):
            style = styles[row["variant"]]
            axes.hlines(row["mean"], row["loss_low"], row["loss_high"], color=style.colour, lw=1)
            axes.vlines(row["loss"], row["ci_low"], row["ci_high"], color=style.colour, lw=1)
            axes.plot(row["loss"], row["mean"], label=row["variant"], **style._replace(dashes="").look())
        axes.margins(0.12)
    legend = {"ladder: words change places in more and smaller blocks": _LADDER}
    figure = panels.finish(shown, table, legend, x="change of loss per word (nats)", y=_ROWS)
    for (metric, model), axes in panels.axes.items():
        if points := table.filter(model=model, metric=metric).to_dicts():
            label_points(axes, points, shown)
    return figure


def disorder_depth(tables: Tables, shown: Shown) -> Figure:
    """Change of two metrics per nat of loss over depth, of the ladder and the other variants.

    Bands are those of the change, at the mean loss. A variant whose loss hardly changes is left out.
    """
    table = changes(tables["contrasts"], list(shown.models)).filter(pl.col("loss_low") > pl.col("loss") / 2)
    table = table.with_columns(pl.col("mean", "ci_low", "ci_high") / pl.col("loss"))
    panels, styles = _panels(table, shown, height=2.3), variant_styles(shown.variants, shown.ladder)
    for (metric, model), axes in panels.axes.items():
        axes.axhline(0, **ZERO)
        draw_lines(axes, table.filter(model=model, metric=metric), styles, ms=3)
    legend = legend_of(named_in(shown.variants, table["variant"]), styles)
    return panels.finish(shown, table, legend, x=DEPTH, y={name: f"{label} per nat" for name, label in _ROWS.items()})


def _panels(table: pl.DataFrame, shown: Shown, height: float) -> Panels:
    """A row for each metric and a column for each model, which says whose loss it is."""
    readers = dict(table.select("model", "read_by").iter_rows())
    others = {model: f", by the loss of {shown.models[one]}" for model, one in readers.items() if one != model}
    columns = {model: label + others.get(model, "") for model, label in shown.models.items()}
    return Panels(columns, dict.fromkeys(_ROWS, ""), height=height)


_FAR = (9, 18, 30, 44, 60, 80)  # points from a dot to its label
_AROUND = [(np.cos(angle), np.sin(angle)) for angle in np.pi * np.array([0, 1, 0.25, 1.75, 0.75, 1.25, 0.5, 1.5])]


def label_points(axes: Axes, points: Sequence[Mapping[str, Any]], shown: Shown) -> None:
    """Write the labels of points (rows of `changes`) beside them, off each other, points, intervals and lines.

    Each takes the nearest free place around its point, or the one where it hides least; a line leads to one that is not
    close by. The layout of the figure has to be final.
    """
    renderer, pixels = FigureCanvasAgg(axes.figure).get_renderer(), axes.transData.transform
    ladder = next(line for line in axes.lines if line.get_label() == "ladder").get_path().interpolated(60)
    lines = [(x, 0.0) for x in np.linspace(*axes.get_xlim(), 80)]
    lines += [(0.0, y) for y in np.linspace(*axes.get_ylim(), 80)]
    for p in points:
        lines += [(x, p["mean"]) for x in np.linspace(p["loss_low"], p["loss_high"], 9)]
        lines += [(p["loss"], y) for y in np.linspace(p["ci_low"], p["ci_high"], 9)]
    marks = [
        *((place, 1) for place in pixels([*ladder.vertices, *lines])),
        *((pixels((p["loss"], p["mean"])), 5) for p in points),
    ]
    taken = [Bbox([place - half, place + half]) for place, half in marks]

    def put(text: Text, far: float, right: float, up: float) -> tuple[int, Bbox]:
        """How much the text hides at this place, and its box."""
        side = "center" if abs(right) < 0.1 else "left" if right > 0 else "right"
        text.set(position=(far * right, far * up), ha=side)
        box = text.get_window_extent(renderer)
        outside = box.x0 < axes.bbox.x0 or box.x1 > axes.bbox.x1 or box.y0 < axes.bbox.y0 or box.y1 > axes.bbox.y1
        return box.count_overlaps(taken) + 100 * outside, box

    look = {"textcoords": "offset points", "fontsize": 8, "va": "center"}
    places = [(far, *direction) for far, direction in product(_FAR, _AROUND)]
    for point in sorted(points, key=lambda point: point["loss"]):
        name, where = point["variant"], (point["loss"], point["mean"])
        text = axes.annotate(shown.variants[name], where, (0, 0), color=GREY if name in shown.ladder else DARK, **look)
        best = next((place for place in places if not put(text, *place)[0]), None)
        best = best or min(places, key=lambda place: put(text, *place)[0])
        taken.append(put(text, *best)[1])
        if best[0] > _FAR[0]:
            arrow = {"arrowstyle": "-", "lw": 0.5, "color": GREY}
            axes.annotate("", where, text.get_position(), arrowprops=arrow, **look)
