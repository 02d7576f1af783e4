"""The figure of one metric's change by the dose of an intervention: against strength, and against the damage done.

Rows are models and views or, where several ranges of blocks are changed, models and ranges in one view. Columns are a
dial against the damage (a model without next tokens: against λ) and a template against its signed strength, each as a
mean over layers and at the output. Lines are patterns and their controls.
"""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.dose_panels import (
    LAYERS,
    chosen,
    range_label,
    rows_of_panels,
    set_root_scale,
    set_root_ticks,
)
from homogenization.figures.panels import (
    alike_handles,
    counted,
    finish,
    label_outer,
    mark_empty,
    panel_grid,
    range_with_zero,
)
from homogenization.figures.pattern_styles import PatternStyle, pattern_handles, pattern_styles
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import ALIKE_COLOUR, DARK, house_style
from homogenization.figures.view_labels import view_label
from homogenization.interventions.conditions import ALL_BLOCKS
from homogenization.tables.intervened import CONDITION, DOSE_MEANS_SCHEMA
from homogenization.vocabulary.variants import ORIGINAL

COLUMNS = {"doses": DOSE_MEANS_SCHEMA}
_KINDS = {"dial": "{layers}", "template": "template, {layers}"}  # kind of a column of panels -> its heading
_AXES = {  # kind, and column of its doses -> label of the axis
    ("dial", "kl"): "KL of the next token\n(nats, root scale)",
    ("dial", "strength"): "λ, share of\nattention moved",
    ("template", "strength"): "s, strength of\nthe template",
}
_PANELS_HEIGHT, _LEAST_HEIGHT = 13.0, 1.4  # inches, of all rows and of one: a page shows the figure whole


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the tables interventions and doses.

    Originals are drawn where they are there, else the first variant by name.

    Raises:
        HomogenizationError: the table lacks the metric for these models.
    """
    table = tables["interventions"].filter(
        pl.col("model").is_in(names_of(shown.models)),
        pl.col("kind").is_in(["dial", "template"]),
        pl.col("layers").is_in(list(LAYERS)),
        pl.col("n_reviews") > 0,
        metric=shown.metric,
        against="untouched",
        part="whole",
    )
    require_rows(table, shown, f"metric '{shown.metric}'", tables["interventions"]["metric"])
    variant = chosen(table["variant"], ORIGINAL)
    doses = tables["doses"].select("model", "variant", *CONDITION, "kl")
    table = table.filter(variant=variant).join(doses, on=("model", "variant", *CONDITION), how="left")
    rows = rows_of_panels(table, shown, by_blocks=True)
    table = pl.concat(table.filter(**told) for told, _ in rows.values())
    styles = pattern_styles(table["pattern"].unique().to_list())
    columns = {
        f"{layers} {kind}": (layers, kind)
        for layers in LAYERS
        for kind in _KINDS
        if not table.filter(kind=kind, layers=layers).is_empty()
    }
    figure, panels = panel_grid(
        [(column, _KINDS[kind].format(layers=LAYERS[layers])) for column, (layers, kind) in columns.items()],
        [(row, label) for row, (_, label) in rows.items()],
        row_height=min(2.2, max(_LEAST_HEIGHT, _PANELS_HEIGHT / len(rows))),
        share_y=True,
    )
    doses_of = {}
    for (row, column), axes in panels.items():
        layers, kind = columns[column]
        of_panel = table.filter(layers=layers, kind=kind, **rows[row][0])
        doses_of[row, column] = kind, "kl" if kind == "dial" and of_panel["kl"].is_not_null().any() else "strength"
        _draw_panel(axes, of_panel, doses_of[row, column][1], styles)
    for row in rows:
        _scale(panels[row, next(iter(columns))], table.filter(**rows[row][0]), shown.homogenization)
    label_outer(panels, "", dict.fromkeys(rows, f"Δ {shown.label}"))
    _label_doses(panels, doses_of)
    handles = pattern_handles(styles) + alike_handles(shown.homogenization)
    return finish(figure, shown.title, _note(table), handles)


def _draw_panel(axes: Axes, table: pl.DataFrame, column: str, styles: dict[str, PatternStyle]) -> None:
    """A line from no dose on for each pattern, with its band where it is no control; without rows, no panel."""
    if table.is_empty():
        axes.set_axis_off()
        return
    table = table.filter(pl.col(column).is_not_null())
    axes.axhline(0, color=DARK, lw=0.9, label="zero")
    tested = table.filter(pl.col("reason").is_null())
    if tested.is_empty():
        mark_empty(axes, f"not tested:\n{counted(table['n_reviews'])}")
        axes.set_xticks([])
        return
    table = tested
    if column == "kl":
        set_root_scale(axes)
    for pattern, style in styles.items():
        rows = table.filter(pattern=pattern).sort(column)
        if rows.is_empty():
            continue
        nothing = pl.DataFrame({column: [0.0], "estimate": [0.0], "ci_low": [0.0], "ci_high": [0.0]})
        rows = pl.concat([nothing, rows.select(nothing.columns)]).sort(column)
        x, y, low, high = (rows[name].to_numpy() for name in nothing.columns)
        if not style.control:
            axes.fill_between(x, low, high, color=style.colour, alpha=0.15, lw=0)
        look = {"lw": 1.1, "ms": 5.0} if style.control else {}
        shown = np.flatnonzero(x != 0).tolist()
        axes.plot(
            x, y, color=style.colour, ls=style.dashes, marker=style.marker, markevery=shown, label=pattern, **look
        )
    if column == "kl":
        axes.set_xlim(0, 1.04 * table["kl"].max())
        set_root_ticks(axes, table["kl"].max())
    elif table["strength"].min() >= 0:
        axes.set_xlim(0, 1.04 * table["strength"].max())


def _scale(axes: Axes, table: pl.DataFrame, homogenization: int) -> None:
    """Limits of the row of panels that share `axes`' scale; the side of `homogenization` is tinted in each."""
    limits = range_with_zero(table.select("estimate", "ci_low", "ci_high").to_numpy(), 0.08)
    axes.set_ylim(limits)
    for sibling in axes.get_shared_y_axes().get_siblings(axes) if homogenization else ():
        if sibling.axison:
            sibling.axhspan(0, limits[homogenization > 0], color=ALIKE_COLOUR, lw=0, zorder=0)
        sibling.set_ylim(limits)


def _label_doses(panels: dict[tuple[str, str], Axes], doses_of: dict[tuple[str, str], tuple[str, str]]) -> None:
    """The dose below the last panel of a column, and where the next has another; every panel has ticks of its own."""
    columns = dict.fromkeys(column for _, column in panels)
    for name in columns:
        of_column = [key for key, axes in panels.items() if key[1] == name and axes.axison]
        for key, below in zip(of_column, [*of_column[1:], None], strict=True):
            panels[key].tick_params(labelbottom=True)
            panels[key].set_xlabel("" if below and doses_of[key] == doses_of[below] else _AXES[doses_of[key]])


def _strengths(table: pl.DataFrame) -> str:
    """Which doses the markers of a dial are, from left to right."""
    strengths = table.filter(kind="dial")["strength"].unique().sort().to_list()
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
