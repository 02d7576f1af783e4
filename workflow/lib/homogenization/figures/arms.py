"""The figure of one metric of trained models over depth: arms, their snapshots, and pairs of arms, over seeds."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from homogenization.figures.grammar import (
    DEPTH_LABEL,
    DEPTH_NOTE,
    Panels,
    draw_lines,
    handles_of,
    views_present,
    widen_if_flat,
)
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import DARK, DEPTHS, ZERO, LineStyle, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.tables.arms import AT_LOSS, AT_STEP


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the table arms, of the originals along the residual stream."""
    table = rows_of(tables["arms"], shown, ("arm",), metric=shown.metric, variant=ORIGINAL, point=RESIDUAL_STREAM)
    require_rows(table, shown, f"metric '{shown.metric}'", tables["arms"]["metric"])
    at_loss, table = table.filter(at=AT_LOSS), table.filter(at=AT_STEP)
    last = table.filter(pl.col("step") == pl.col("step").max().over("arm", "minus"))
    alone = pl.col("minus").is_null()
    arms = named_in(shown.arms, table["arm"])
    by_step = _styles_of_steps(table["step"].unique().sort().to_list())
    # name -> label of a column of panels, its rows, the styles of its lines, and the column that tells the lines
    columns = {"arms": ("at the end of training", last.filter(alone), variant_styles(arms), "arm")}
    entries = handles_of(arms, variant_styles(arms))
    for name, label in arms:
        of_arm = table.filter(alone, arm=name).with_columns(pl.col("step").cast(pl.String))
        steps = of_arm["step"].unique().cast(pl.Int64).sort()
        if len(steps) > 1:
            columns[f"{name} by step"] = (f"{label}, by step", of_arm, by_step, "step")
            entries += handles_of([(str(step), f"{step:,} steps") for step in steps], by_step)
    levels = set(columns)
    for arm, minus, label in shown.arm_pairs:
        look = {arm: LineStyle(DARK, "-", "o")}
        columns[f"{arm} minus {minus}"] = (label, last.filter(arm=arm, minus=minus), look, "arm")
        if len(rows := at_loss.filter(arm=arm, minus=minus)):
            loss = f"where both have a held-out loss of {rows['loss'].mean():.2f} nats"
            columns[f"{arm} minus {minus} at equal loss"] = (f"{label}, {loss}", rows, look, "arm")
    views = views_present(table, shown.views)
    headings = [(name, label) for name, (label, *_) in columns.items()]
    panels = Panels(("column", headings), ("view", [(view, view_label(view)) for view in views]))
    for (view, name), axes in panels.axes.items():
        _, rows, styles, hue = columns[name]
        if name not in levels:
            axes.axhline(0, **ZERO, label="zero")
        draw_lines(axes, rows.filter(view=view), styles, y=("mean", "lowest", "highest"), hue=hue)
        widen_if_flat(axes)
    panels.depth_axis()
    panels.label(DEPTH_LABEL, shown.label)
    note = (
        f"Line: mean over seeds of the mean over original reviews; band: from the lowest to the highest of "
        f"{counted(table['n_seeds'], 'seed')}. Differences are between models of the same seed. {DEPTH_NOTE} Vertical "
        "scales differ between panels."
    )
    return panels.finish(shown.title, note, list({entry.get_label(): entry for entry in entries}.values()))


def _styles_of_steps(steps: Sequence[int]) -> dict[str, LineStyle]:
    """The styles of snapshots by step: the later, the darker."""
    colours = colormaps[DEPTHS](np.linspace(0.15, 1, len(steps)))
    return {str(step): LineStyle(to_hex(colour)) for step, colour in zip(steps, colours, strict=True)}
