"""The one curve of the report's first page: how alike the tokens of the originals are over depth, in every model."""

import io
from collections.abc import Sequence

import matplotlib
import polars as pl
from matplotlib.figure import Figure

from homogenization.claims.terms import views_of
from homogenization.figures.grammar import draw_lines, set_depth_axis
from homogenization.figures.style import GREY, house_style, variant_styles
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.report.questions import headline_metric

_INCHES = (4.3, 3.0)
_LEGEND_INCHES = 0.2  # for each model
_MOST_IN_LEGEND = 10


@house_style()
def depth_curve(summary: pl.DataFrame, models: Sequence[Sequence[str]]) -> str:
    """An SVG element with a line for each model; "" where no metric is about likeness.

    Up to ten models have a style each, a 95 % interval and a legend.

    Args:
        summary: the table `summary`.
        models: (name, label) of each model.
    """
    stream = summary.filter(variant=ORIGINAL, point=RESIDUAL_STREAM)
    name = headline_metric(stream["metric"].unique().to_list())
    if name is None:
        return ""
    metric = describe_metric(name)
    rows = stream.filter(metric=name, view=views_of(name)[0]).drop("variant").rename({"model": "variant"})
    several = len(models) > _MOST_IN_LEGEND
    width, height = _INCHES
    figure = Figure(figsize=(width, height + (0 if several else _LEGEND_INCHES * len(models))), layout="constrained")
    axes = figure.add_subplot()
    if several:
        for _, of_model in rows.sort("depth").group_by("variant", maintain_order=True):
            axes.plot(of_model["depth"], of_model["mean"], color=GREY, lw=0.7)
    else:
        draw_lines(axes, rows, variant_styles(models))
    set_depth_axis(axes)
    axes.set(xlabel="depth: layer / blocks", ylabel=metric.label)
    if not several:
        labels = dict(models)
        lines = [line for line in axes.lines if line.get_label() in labels]
        figure.legend(lines, [labels[line.get_label()] for line in lines], loc="outside lower left", frameon=False)
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "first page"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = drawn.getvalue()
    title = f"{metric.title} of the originals over depth, a line for each of {len(models)} models"
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
