"""The figure of one metric of trained models over depth: arms, their snapshots, and pairs of arms, over seeds."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, draw_depth_curves, set_depth_axis
from homogenization.figures.panels import (
    counted,
    finish,
    label_outer,
    panel_grid,
    variant_handles,
    views_present,
    widen_if_flat,
)
from homogenization.figures.shown import Named, Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, VariantStyle, house_style, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.tables.arms import AT_LOSS, AT_STEP
from homogenization.vocabulary.points import RESIDUAL_STREAM
from homogenization.vocabulary.variants import ORIGINAL

_ARMS = "arms"
_VALUES = ("mean", "lowest", "highest")


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the table arms, of the originals along the residual stream.

    Raises:
        HomogenizationError: the table lacks the metric.
    """
    table = tables["arms"].filter(metric=shown.metric, variant=ORIGINAL, point=RESIDUAL_STREAM)
    table = table.filter(pl.col("arm").is_in(names_of(shown.arms)))
    require_rows(table, shown, f"metric '{shown.metric}'", tables["arms"]["metric"])
    at_loss = table.filter(at=AT_LOSS)
    table = table.filter(at=AT_STEP)
    last = table.filter(pl.col("step") == pl.col("step").max().over("arm", "minus"))
    alone = pl.col("minus").is_null()
    views = views_present(table, shown.views)
    present = set(table["arm"])
    arms = [(name, label) for name, label in shown.arms if name in present]
    # lines of a panel: names with labels, rows of the table, and the column that tells the lines
    columns: list[tuple[str, str, Named, pl.DataFrame, str]] = [
        (_ARMS, "at the end of training", arms, last.filter(alone), "arm")
    ]
    for name, label in arms:
        steps = table.filter(alone, arm=name)["step"].unique().sort()
        if len(steps) > 1:
            lines = [(str(step), f"{step:,} steps") for step in steps]
            of_arm = table.filter(alone, arm=name).with_columns(pl.col("step").cast(pl.String))
            columns.append((f"{name} by step", f"{label}, by step", lines, of_arm, "step"))
    pairs = [(f"{arm} minus {minus}", label, arm, minus) for arm, minus, label in shown.arm_pairs]
    for name, label, arm, minus in pairs:
        columns.append((name, label, [], last.filter(arm=arm, minus=minus), "arm"))
        if len(rows := at_loss.filter(arm=arm, minus=minus)):
            columns.append((f"{name} at equal loss", f"{label}, {_loss_in_words(rows)}", [], rows, "arm"))
    figure, panels = panel_grid(
        [(name, label) for name, label, *_ in columns], [(view, view_label(view)) for view in views]
    )
    handles = {}
    by_step = _styles_of_steps(table["step"].unique().sort().to_list())
    for name, _, lines, rows, told_by in columns:
        styles = {} if not lines else variant_styles(lines) if told_by == "arm" else by_step
        for view in views:
            _draw_panel(panels[view, name], rows.filter(view=view), styles, told_by)
        handles |= {handle.get_label(): handle for handle in variant_handles(lines, styles, set(rows[told_by]))}
    label_outer(panels, DEPTH_LABEL, dict.fromkeys(views, shown.label))
    note = (
        f"Line: mean over seeds of the mean over original reviews; band: from the lowest to the highest of "
        f"{counted(table['n_seeds'], 'seed')}. Differences are between models of the same seed. {DEPTH_NOTE} Vertical "
        "scales differ between panels."
    )
    return finish(figure, shown.title, note, list(handles.values()))


def _loss_in_words(rows: pl.DataFrame) -> str:
    return f"where both have a held-out loss of {rows['loss'].mean():.2f} nats"


def _styles_of_steps(steps: Sequence[int]) -> dict[str, VariantStyle]:
    """The styles of snapshots by step: the later, the darker."""
    colours = colormaps["viridis_r"](np.linspace(0.15, 1, len(steps)))
    return {str(step): VariantStyle(to_hex(colour), "-", "") for step, colour in zip(steps, colours, strict=True)}


def _draw_panel(axes: Axes, rows: pl.DataFrame, styles: dict[str, VariantStyle], told_by: str) -> None:
    if not styles:  # a difference
        styles = {name: VariantStyle(DARK, "-", "o") for name in rows[told_by].unique()}
        axes.axhline(0, color=DARK, lw=0.9, label="zero")
    draw_depth_curves(axes, rows.with_columns(variant=pl.col(told_by)).drop("point"), styles, _VALUES)
    widen_if_flat(axes)
    set_depth_axis(axes, 0)
