"""The figure of conditions without a dose: masked keys, clipped sinks, other positions; a lane for each.

A row is a model and a view. Columns are the metric's change, averaged over layers and at the output, and the damage.
"""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.changed_attention import (
    LAYERS,
    chosen_variant,
    rows_of_panels,
    set_root_scale,
    set_root_ticks,
)
from homogenization.figures.grammar import (
    Panels,
    alike_handles,
    handles_of,
    mark_empty,
    marker_handle,
    range_with_zero,
    tint_alike,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import CONDITIONS, FULL, GREY, OPEN, STRONG, ZERO
from homogenization.figures.words import counted, short_number
from homogenization.tables.intervened import CONDITION, DOSE_MEANS_SCHEMA

COLUMNS = {"doses": DOSE_MEANS_SCHEMA}
_KINDS = {"masked": "key masked", "clipped": "sink clipped", "positions": "other positions"}
_KEYS = {
    "first": "first token masked",
    "random": "a random token masked",
    "most_attended": "most attended masked",
    "massive": "massive tokens masked",
}
_CONTROL = "random"
_KL = "kl"
_ROUNDING = 1e-7  # nats


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the tables interventions, intervened_layers and doses."""
    effects, every, doses = (
        rows_of(tables[name], shown, ("model",)).filter(pl.col("kind").is_in(list(_KINDS)))
        for name in ("interventions", "intervened_layers", "doses")
    )
    every = every.filter(metric=shown.metric)  # where every sink moved, there is no effect
    require_rows(every, shown, f"metric '{shown.metric}'", tables["intervened_layers"]["metric"])
    variant = chosen_variant(every["variant"])
    effects = effects.filter(
        pl.col("n_reviews") > 0,
        pl.col("layers").is_in(list(LAYERS)),
        metric=shown.metric,
        against="untouched",
        part="whole",
        variant=variant,
    )
    every, doses = every.filter(variant=variant), doses.filter(variant=variant).with_columns(lane=_lane())
    rows = rows_of_panels(every, shown)
    lanes = doses["lane"].unique(maintain_order=True).to_list()
    columns = [*LAYERS.items(), (_KL, "damage")]
    panels = Panels(
        ("", columns), ("", [(row, label) for row, (_, label) in rows.items()]), height=0.62 + 0.285 * len(lanes)
    )
    for row, (told, _) in rows.items():
        of_model = doses.filter(model=told["model"])
        for layers in LAYERS:
            drawn = effects.filter(layers=layers, **told).with_columns(lane=_lane())
            means = _over_all_reviews(every.filter(**told), layers).join(of_model, on=CONDITION, nulls_equal=True)
            _draw_changes(panels.axes[row, layers], drawn, means.filter(pl.col("n_sink_moved") > 0), lanes)
        _scale([panels.axes[row, layers] for layers in LAYERS], shown.homogenization)
        _draw_damage(panels.axes[row, _KL], of_model, lanes)
        _name_lanes([panels.axes[row, column] for column, _ in columns], of_model, lanes)
    for (_, column), axes in panels.axes.items():
        axes.set_xlabel("KL (nats, root scale)" if column == _KL else f"Δ {shown.label}")
    return panels.finish(shown.title, _note(doses, effects), _handles(doses, shown.homogenization))


def _lane() -> pl.Expr:
    """What is done, in words."""
    bound, pattern = pl.col("strength").round(3).cast(pl.String), pl.col("pattern")
    to = pl.when(pattern == "others").then(pl.lit("to the others")).otherwise(pl.lit("dropped"))
    return (
        pl.when(pl.col("kind") == "masked")
        .then(pattern.replace(_KEYS))
        .when(pl.col("kind") == "clipped")
        .then(pl.concat_str(pl.lit("sink clipped at "), bound, pl.lit(", rest "), to))
        .otherwise(pl.concat_str(pl.lit("positions "), pattern))
    )


def _over_all_reviews(rows: pl.DataFrame, layers: str) -> pl.DataFrame:
    """The columns of `CONDITION` and the mean change over all reviews, those whose sink moved among them."""
    if layers == "output":
        rows = rows.filter(pl.col("layer") == pl.col("layer").max())
    return rows.group_by(CONDITION).agg(pl.col("mean").mean())


def _draw_changes(axes: Axes, effects: pl.DataFrame, every: pl.DataFrame, lanes: list[str]) -> None:
    """A point with its interval for each condition; an open one for the mean over all reviews where sinks moved."""
    axes.axvline(0, **ZERO, label="zero")
    for row in effects.filter(pl.col("estimate").is_finite()).iter_rows(named=True):
        lane, colour = lanes.index(row["lane"]), _colour(row)
        axes.hlines(lane, row["ci_low"], row["ci_high"], color=colour, lw=FULL)
        axes.plot(row["estimate"], lane, "o", color=colour, ms=5, label=row["lane"])
    for row in every.filter(pl.col("mean").is_finite()).iter_rows(named=True):
        axes.plot(
            row["mean"], lanes.index(row["lane"]) + 0.22, "D", **OPEN, mec=_colour(row), ms=4.5,
            label=f"{row['lane']}, all reviews",
        )  # fmt: skip


def _draw_damage(axes: Axes, doses: pl.DataFrame, lanes: list[str]) -> None:
    doses = doses.filter(pl.col("kl").is_not_null())
    if doses.is_empty():
        mark_empty(axes, "no next token", ticks=False)
        return
    set_root_scale(axes)
    for row in doses.iter_rows(named=True):
        lane = lanes.index(row["lane"])
        axes.hlines(lane, 0, row["kl"], color=_colour(row), lw=STRONG)
        axes.plot(row["kl"], lane, "o", color=_colour(row), ms=4, label=row["lane"])
        number = short_number(row["kl"] if row["kl"] > _ROUNDING else 0)
        axes.annotate(number, (row["kl"], lane), (6, 0), textcoords="offset points", va="center", fontsize=8)
    largest = doses["kl"].max()
    axes.set_xlim(0, max(1.7 * largest, 1e-6))  # room for the numbers
    set_root_ticks(axes, largest)


def _colour(row: dict) -> str:
    return GREY if row["pattern"] == _CONTROL else CONDITIONS[row["kind"]].colour


def _scale(axes_of_row: list[Axes], homogenization: int) -> None:
    """One scale for the changes of a row, zero in its middle; the side of `homogenization` is tinted."""
    drawn = [axes.dataLim.intervalx for axes in axes_of_row]
    largest = np.abs(range_with_zero(np.concatenate(drawn), 0.08)).max()
    for axes in axes_of_row:
        axes.set_xlim(-largest, largest)
        tint_alike(axes, homogenization, along_x=True)
        axes.locator_params(axis="x", nbins=3)


def _name_lanes(axes_of_row: list[Axes], doses: pl.DataFrame, lanes: list[str]) -> None:
    """The conditions at the left of a row, with the numbers of reviews whose sink moved or that were too long."""
    told = {row["lane"]: row for row in doses.iter_rows(named=True)}
    names = []
    for lane in lanes:
        row = told.get(lane)
        notes = []
        if row and row["n_sink_moved"]:
            notes.append(f"sink moved in {row['n_sink_moved']} of {row['n_reviews']}")
        if row and row["n_skipped"]:
            notes.append(f"{row['n_skipped']} of {row['n_reviews'] + row['n_skipped']} too long")
        names.append("\n".join(filter(None, [lane, "; ".join(notes)])))
    for index, axes in enumerate(axes_of_row):
        axes.set_yticks(range(len(lanes)), names if index == 0 else [])
        axes.set_ylim(len(lanes) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)


def _handles(doses: pl.DataFrame, homogenization: int) -> list:
    styles = {kind: style for kind, style in CONDITIONS.items() if (doses["kind"] == kind).any()}
    handles = handles_of(list(_KINDS.items()), styles, ms=5)
    if (doses["pattern"] == _CONTROL).any():
        control = CONDITIONS["masked"]._replace(colour=GREY)
        handles += handles_of([(_CONTROL, "control: a random key masked")], {_CONTROL: control}, ms=5)
    if (doses["n_sink_moved"] > 0).any():
        handles.append(marker_handle("mean over all reviews, also those whose sink moved", "D", **OPEN, ms=4.5))
    return handles + alike_handles(homogenization)


def _note(doses: pl.DataFrame, effects: pl.DataFrame) -> str:
    note = (
        "Point: mean change Δ over reviews from the run with untouched attention; line: its 95 % interval. KL: from "
        "the untouched to the changed next-token distribution, mean over tokens and reviews. "
        f"n = {counted(doses['n_reviews'])}. Zero is in the middle of each panel; scales differ between rows."
    )
    if (doses["n_sink_moved"] > 0).any():
        note += (
            " Reviews in which another token took over the sink are left out of the points; where no point stands, it "
            "moved in all of them."
        )
    if len(untested := effects.drop_nulls("reason")):
        note += f" Not tested, and without a point: conditions with {counted(untested['n_reviews'])}."
    return note
