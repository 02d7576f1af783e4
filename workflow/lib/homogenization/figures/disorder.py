"""Disorder or position? Changes of metrics against changes of loss, at the output and over depth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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


_FAR = np.array([9, 16, 24, 34, 46, 60])  # points from a dot to its label
_ANGLES = np.arange(16) * np.pi / 8


def label_points(axes: Axes, points: Sequence[Mapping[str, Any]], shown: Shown) -> None:
    """Write the labels of points (rows of `changes`) beside them, off each other, points, intervals and lines.

    Each takes the place around its point where it and its line hide least, and of these the nearest; a line leads to
    one that is not close by. The layout of the figure has to be final.
    """
    renderer, pixels = FigureCanvasAgg(axes.figure).get_renderer(), axes.transData.transform
    ladder = next(line for line in axes.lines if line.get_label() == "ladder").get_path().interpolated(20)
    lines = [*ladder.vertices, *((x, 0.0) for x in np.linspace(*axes.get_xlim(), 40))]
    lines += [(0.0, y) for y in np.linspace(*axes.get_ylim(), 40)]
    for p in points:
        lines += [(x, p["mean"]) for x in np.linspace(p["loss_low"], p["loss_high"], 5)]
        lines += [(p["loss"], y) for y in np.linspace(p["ci_low"], p["ci_high"], 5)]
    dots = pixels([(p["loss"], p["mean"]) for p in points])
    taken, labels = np.vstack([_boxes(pixels(lines), 1), _boxes(dots, 5)]), np.empty((0, 4))

    far, angle = (grid.ravel() for grid in np.meshgrid(_FAR, _ANGLES))
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    sides = np.select([abs(directions[:, 0]) < 0.1, directions[:, 0] > 0], [0.5, 0], 1)
    look = {"textcoords": "offset points", "fontsize": 8, "va": "center"}
    for point in sorted(points, key=lambda point: point["loss"]):
        name, where = point["variant"], (point["loss"], point["mean"])
        text = axes.annotate(shown.variants[name], where, (0, 0), color=GREY if name in shown.ladder else DARK, **look)
        size = text.get_window_extent(renderer).size + 2
        steps = np.linspace(_FAR[0], far, 8)[..., None] * directions * axes.figure.dpi / 72 + pixels(where)
        low = steps[-1] - np.column_stack([sides, np.full(len(sides), 0.5)]) * size
        boxes, parts = np.hstack([low, low + size]), _boxes(steps, 1)
        hidden = _overlaps(boxes, taken) + 9 * _overlaps(boxes, labels)
        crossed = (far > _FAR[0]) * (_overlaps(parts, taken) / 4 + _overlaps(parts, labels)).sum(axis=0)
        outside = (low < axes.bbox.min).any(axis=1) | (low + size > axes.bbox.max).any(axis=1)
        best = (hidden + crossed + 100 * outside + far / 30).argmin()
        text.set(position=far[best] * directions[best], ha={0: "left", 0.5: "center", 1: "right"}[sides[best]])
        labels = np.vstack([labels, boxes[best]])
        if far[best] > _FAR[0]:
            taken = np.vstack([taken, parts[:, best]])
            arrow = {"arrowstyle": "-", "lw": 0.5, "color": GREY}
            axes.annotate("", where, text.get_position(), arrowprops=arrow, **look)


def _boxes(centres: np.ndarray, half: float) -> np.ndarray:
    """Squares around points, in pixels: left, bottom, right, top in the last axis."""
    return np.concatenate([centres - half, centres + half], axis=-1)


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """With how many of the others (n x 4) each box overlaps."""
    apart = (boxes[..., None, :2] > others[:, 2:]) | (boxes[..., None, 2:] < others[:, :2])
    return (~apart.any(axis=-1)).sum(axis=-1)
