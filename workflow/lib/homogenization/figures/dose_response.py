"""The figure of one metric's change by the dose of an intervention: against strength, and against the damage done.

Rows are models and views or, where several ranges of blocks are changed, models and ranges in one view. Columns are
steering against the damage (a model without next tokens: against λ) and a template against its signed strength, each
as a mean over layers and at the output. Lines are patterns and their controls.
"""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.changed_attention import (
    LAYERS,
    chosen_variant,
    pattern_handles,
    range_label,
    rows_of_panels,
    set_root_scale,
    set_root_ticks,
)
from homogenization.figures.grammar import (
    ESTIMATE,
    Panels,
    alike_handles,
    draw_lines,
    mark_empty,
    range_with_zero,
    tint_alike,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import ZERO, LineStyle, pattern_styles
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted
from homogenization.interventions.conditions import ALL_BLOCKS
from homogenization.tables.intervened import CONDITION, DOSE_MEANS_SCHEMA

COLUMNS = {"doses": DOSE_MEANS_SCHEMA}
_KINDS = {"steering": "{layers}", "template": "template, {layers}"}  # kind of a column of panels -> its heading
_AXES = {  # kind, and column of its doses -> label of the axis
    ("steering", "kl"): "KL of the next token\n(nats, root scale)",
    ("steering", "strength"): "λ, share of\nattention moved",
    ("template", "strength"): "s, strength of\nthe template",
}
_PANELS_HEIGHT, _LEAST_HEIGHT = 13.0, 1.4  # inches, of all rows and of one: a page shows the figure whole


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the tables interventions and doses.

    Originals are drawn where they are there, else the first variant by name.
    """
    table = rows_of(
        tables["interventions"], shown, ("model",), metric=shown.metric, against="untouched", part="whole"
    ).filter(pl.col("kind").is_in(list(_KINDS)), pl.col("layers").is_in(list(LAYERS)), pl.col("n_reviews") > 0)
    require_rows(table, shown, f"metric '{shown.metric}'", tables["interventions"]["metric"])
    doses = tables["doses"].select("model", "variant", *CONDITION, "kl")
    table = table.filter(variant=chosen_variant(table["variant"]))
    table = table.join(doses, on=("model", "variant", *CONDITION), how="left")
    rows = rows_of_panels(table, shown, by_blocks=True)
    table = pl.concat(table.filter(**told).with_columns(row=pl.lit(row)) for row, (told, _) in rows.items())
    table = table.with_columns(column=pl.concat_str("layers", pl.lit(" "), "kind"))
    styles = pattern_styles(table["pattern"])
    columns = {f"{layers} {kind}": (layers, kind) for layers in LAYERS for kind in _KINDS}
    headings = [
        (column, _KINDS[kind].format(layers=LAYERS[layers]))
        for column, (layers, kind) in columns.items()
        if (table["column"] == column).any()
    ]
    panels = Panels(
        ("column", headings),
        ("row", [(row, label) for row, (_, label) in rows.items()]),
        height=min(2.2, max(_LEAST_HEIGHT, _PANELS_HEIGHT / len(rows))),
        share_y=True,
    )
    doses_of = {}
    for (row, column), axes, of_panel in panels.parts(table):
        kind = columns[column][1]
        doses_of[row, column] = kind, "kl" if kind == "steering" and of_panel["kl"].is_not_null().any() else "strength"
        _draw_panel(axes, of_panel, doses_of[row, column][1], styles)
    for (row, _), axes in panels.axes.items():
        axes.set_ylim(range_with_zero(table.filter(row=row).select(ESTIMATE).to_numpy(), 0.08))
        if axes.axison:
            tint_alike(axes, shown.homogenization)
    panels.label("", f"Δ {shown.label}")
    _label_doses(panels.axes, doses_of)
    handles = pattern_handles(styles) + alike_handles(shown.homogenization)
    return panels.finish(shown.title, _note(table), handles)


def _draw_panel(axes: Axes, table: pl.DataFrame, dose: str, styles: dict[str, LineStyle]) -> None:
    """A line from no dose on for each pattern; without rows, no panel."""
    if table.is_empty():
        axes.set_axis_off()
        return
    table = table.filter(pl.col(dose).is_not_null())
    axes.axhline(0, **ZERO, label="zero")
    tested = table.filter(pl.col("reason").is_null())
    if tested.is_empty():
        mark_empty(axes, f"not tested:\n{counted(table['n_reviews'])}", ticks=False)
        return
    if dose == "kl":
        set_root_scale(axes)
    columns = ["pattern", dose, *ESTIMATE]
    nothing = tested.select("pattern").unique().with_columns(pl.lit(0.0).alias(name) for name in columns[1:])
    lines = pl.concat([nothing, tested.select(columns)])
    own = {"x": dose, "y": ESTIMATE, "hue": "pattern", "markers": lambda doses: np.flatnonzero(doses != 0).tolist()}
    draw_lines(axes, lines, styles, **own)
    if dose == "kl":
        axes.set_xlim(0, 1.04 * tested["kl"].max())
        set_root_ticks(axes, tested["kl"].max())
    elif tested["strength"].min() >= 0:
        axes.set_xlim(0, 1.04 * tested["strength"].max())


def _label_doses(panels: dict[tuple[str, str], Axes], doses_of: dict[tuple[str, str], tuple[str, str]]) -> None:
    """The dose below the last panel of a column, and where the next has another; every panel has ticks of its own."""
    columns = dict.fromkeys(column for _, column in panels)
    for name in columns:
        of_column = [key for key, axes in panels.items() if key[1] == name and axes.axison]
        for key, below in zip(of_column, [*of_column[1:], None], strict=True):
            panels[key].tick_params(labelbottom=True)
            panels[key].set_xlabel("" if below and doses_of[key] == doses_of[below] else _AXES[doses_of[key]])


def _strengths(table: pl.DataFrame) -> str:
    """Which doses the markers of steering are, from left to right."""
    strengths = table.filter(kind="steering")["strength"].unique().sort().to_list()
    listed = ", ".join(f"{strength:g}" for strength in strengths)
    return f"; markers from left to right: λ = {listed}, the share of attention that is moved" if strengths else ""


def _note(table: pl.DataFrame) -> str:
    moved = table.filter(pl.col("n_sink_moved") > 0)
    ranges = table["blocks"].unique().to_list()
    alone = f"Changed: {range_label(ranges[0])}. " if len(ranges) == 1 and ranges != [ALL_BLOCKS] else ""
    views = table["view"].unique().to_list()
    tokens = f"Tokens: {view_label(views[0])}. " if len(ranges) > 1 else ""
    note = (
        "Line: mean change Δ over reviews from the run with untouched attention; band: its 95 % interval, not drawn "
        "for controls. KL: from the untouched to the changed next-token distribution, mean over tokens, on the scale "
        f"of its root{_strengths(table)}. {tokens}{alone}n = {counted(table['n_reviews'])}. Scales differ between rows."
    )
    if len(moved):
        note += f" Left out: {counted(moved['n_sink_moved'])} of a dose, in which another token took over the sink."
    return note
