"""Figures of changed attention: what a dose or a condition does to a metric, and what likeness costs.

Rows of panels are mostly models and views. Originals are drawn where they are there, else the first variant by name.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.consequences.schemas import HARM_SCHEMA
from homogenization.figures.grammar import (
    ESTIMATE,
    Facet,
    Panels,
    alike_handles,
    draw_lines,
    handle,
    mark_empty,
    marker_handle,
    range_with_zero,
    tint_alike,
    views_present,
)
from homogenization.figures.shown import Shown, Tables, named_in, required, rows_of
from homogenization.figures.style import (
    CONDITIONS,
    DARK,
    FINE,
    FULL,
    GREY,
    HAIR,
    OPEN,
    OTHER_CONDITIONS,
    PLACEBO_MARKERS,
    STRONG,
    ZERO,
    LineStyle,
    pattern_styles,
)
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted
from homogenization.interventions.conditions import ALL_BLOCKS, BLOCK_NAMES
from homogenization.names.numbers import significant, typeset
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import NOT_TESTED
from homogenization.tables.intervened import CONDITION, DOSE_MEANS_SCHEMA

COLUMNS = {"doses": DOSE_MEANS_SCHEMA, "harm": HARM_SCHEMA}
_LAYERS = {"all": "mean over layers", "output": "at the output"}
_VIEWS = {"cosine_anisotropy": ("all_tokens", "without_first"), "cosine_to_first_token": ("all_tokens",)}
_SPECTRAL_VIEWS = ("all_tokens", "centred")
_DOSES = {  # column of the doses -> label of the axis
    "kl": "KL of the next token\n(nats, root scale)",
    "strength": "λ, share of\nattention moved",
}
_PANELS_HEIGHT, _LEAST_HEIGHT = 13.0, 1.4  # inches, of all rows and of one: a page shows the figure whole


def dose_response(tables: Tables, shown: Shown) -> Figure:
    """`shown.metric`'s change by steering, against the damage done; in a model without next tokens, against λ.

    Rows are models and views or, where several ranges of blocks are changed, models and ranges in one view. Columns are
    a mean over layers, and the output. Lines are patterns and their controls.
    """
    effects = tables["interventions"].filter(
        pl.col("kind") == "steering", pl.col("layers").is_in(list(_LAYERS)), pl.col("n_reviews") > 0
    )
    told = tables["interventions"]["metric"]
    whole = {"metric": shown.metric, "against": "untouched"}
    table = required(effects, shown, f"metric '{shown.metric}'", of=("model",), told=told, **whole)
    doses = tables["doses"].select("model", "variant", *CONDITION, "kl")
    table = table.filter(variant=_chosen_variant(table["variant"]))
    table = table.join(doses, on=("model", "variant", *CONDITION), how="left")
    names, rows = _rows_of_panels(table, shown, by_blocks=True)
    table = table.join(pl.DataFrame([row for row, _ in rows], names, orient="row"), on=names, how="semi")
    styles = pattern_styles(table["pattern"])
    panels = Panels(
        ("layers", named_in(_LAYERS.items(), table["layers"])),
        (names, rows),
        height=min(2.2, max(_LEAST_HEIGHT, _PANELS_HEIGHT / len(rows))),
        share_y=True,
    )
    doses_of = {}
    for (row, layers), axes, of_panel in panels.parts(table):
        dose = "kl" if of_panel["kl"].is_not_null().any() else "strength"
        doses_of[row, layers] = dose
        _draw_doses(axes, of_panel, dose, styles)
        of_row = table.filter(**dict(zip(names, row, strict=True)))
        axes.set_ylim(range_with_zero(of_row.select(ESTIMATE).to_numpy(), 0.08))
        if axes.axison:
            tint_alike(axes, shown.homogenization)
    panels.label("", f"Δ {shown.label}")
    _label_doses(panels.axes, doses_of)
    handles = [*_pattern_handles(styles), *alike_handles(shown.homogenization)]
    return panels.finish(shown.title, _note_on_doses(table), handles)


def _draw_doses(axes: Axes, table: pl.DataFrame, dose: str, styles: dict[str, LineStyle]) -> None:
    """A line from no dose on for each pattern; without rows, no panel."""
    if table.is_empty():
        axes.set_axis_off()
        return
    table = table.filter(pl.col(dose).is_not_null())
    axes.axhline(0, **ZERO, label="zero")
    tested = table.filter(pl.col("verdict") != NOT_TESTED)
    if tested.is_empty():
        mark_empty(axes, f"not tested:\n{counted(table['n_reviews'])}", ticks=False)
        return
    if dose == "kl":
        _set_root_scale(axes)
    columns = ["pattern", dose, *ESTIMATE]
    nothing = tested.select("pattern").unique().with_columns(pl.lit(0.0).alias(name) for name in columns[1:])
    lines = pl.concat([nothing, tested.select(columns)])
    own = {"x": dose, "y": ESTIMATE, "hue": "pattern", "markers": lambda doses: np.flatnonzero(doses != 0).tolist()}
    draw_lines(axes, lines, styles, **own)
    axes.set_xlim(0, 1.04 * tested[dose].max())
    if dose == "kl":
        _set_root_ticks(axes, tested["kl"].max())


def _label_doses(panels: dict[tuple[str, str], Axes], doses_of: dict[tuple[str, str], str]) -> None:
    """The dose below the last panel of a column, and where the next has another; every panel has ticks of its own."""
    for name in dict.fromkeys(column for _, column in panels):
        of_column = [key for key, axes in panels.items() if key[1] == name and axes.axison]
        for key, below in zip(of_column, [*of_column[1:], None], strict=True):
            panels[key].tick_params(labelbottom=True)
            panels[key].set_xlabel("" if below and doses_of[key] == doses_of[below] else _DOSES[doses_of[key]])


def _note_on_doses(table: pl.DataFrame) -> str:
    """What differs from study to study: the doses, where all rows of panels have one range or view, and reviews."""
    strengths = table["strength"].drop_nulls().unique().sort().to_list()
    parts = [f"λ = {', '.join(f'{strength:g}' for strength in strengths)}"] * bool(strengths)
    ranges = table["blocks"].unique().to_list()
    parts += [_range_label(ranges[0])] * (len(ranges) == 1 and ranges != [ALL_BLOCKS])
    parts += [view_label(table["view"][0])] * (len(ranges) > 1)
    parts.append(f"n = {counted(table['n_reviews'])}")
    if len(moved := table.filter(pl.col("n_sink_moved") > 0)):
        parts.append(f"left out: {counted(moved['n_sink_moved'])} of a dose, in which another token took over the sink")
    return "; ".join(parts)


_KEYS = {
    "first": "first token masked",
    "random": "a random token masked",
    "most_attended": "most attended masked",
    "massive": "massive tokens masked",
}
_CONTROL = "random"
_KL = "kl"
_ROUNDING = 1e-7  # nats


def conditions(tables: Tables, shown: Shown) -> Figure:
    """`shown.metric` in conditions without a dose: masked keys, equal positions; a lane for each.

    Columns are the metric's change, averaged over layers and at the output, and the damage.
    """
    effects, every, doses = (
        tables[name].filter(pl.col("kind").is_in(list(CONDITIONS)))
        for name in ("interventions", "intervened_layers", "doses")
    )
    # where every sink moved, there is no effect
    wanted, told = f"metric '{shown.metric}'", tables["intervened_layers"]["metric"]
    every = required(every, shown, wanted, of=("model",), told=told, metric=shown.metric)
    variant = _chosen_variant(every["variant"])
    effects = effects.filter(pl.col("n_reviews") > 0, pl.col("layers").is_in(list(_LAYERS)))
    whole = {"metric": shown.metric, "against": "untouched", "variant": variant}
    effects = rows_of(effects, shown, ("model",), **whole)
    every, doses = every.filter(variant=variant), rows_of(doses, shown, ("model",), variant=variant)
    doses = doses.with_columns(lane=_lane())
    rows = _rows_of_panels(every, shown)
    lanes = doses["lane"].unique(maintain_order=True).to_list()
    columns = [*_LAYERS.items(), (_KL, "damage")]
    panels = Panels(("layers", columns), rows, height=0.62 + 0.285 * len(lanes))
    for ((model, view), layers), axes, drawn in panels.parts(effects.with_columns(lane=_lane())):
        of_model = doses.filter(model=model)
        if layers == _KL:
            _draw_damage(axes, of_model, lanes)
            continue
        means = _over_all_reviews(every.filter(model=model, view=view), layers)
        means = means.join(of_model, on=CONDITION, nulls_equal=True)
        _draw_changes(axes, drawn, means.filter(pl.col("n_sink_moved") > 0), lanes)
    for row, _ in rows[1]:
        _scale([panels.axes[row, layers] for layers in _LAYERS], shown.homogenization)
        _name_lanes([panels.axes[row, column] for column, _ in columns], doses.filter(model=row[0]), lanes)
    for (_, column), axes in panels.axes.items():
        axes.set_xlabel("KL (nats, root scale)" if column == _KL else f"Δ {shown.label}")
    handles = [*_handles_of_conditions(doses), *alike_handles(shown.homogenization)]
    return panels.finish(shown.title, _note_on_conditions(doses, effects), handles)


def _lane() -> pl.Expr:
    """What is done, in words."""
    masked = pl.col("pattern").replace(_KEYS)
    return pl.when(pl.col("kind") == "masked").then(masked).otherwise(pl.lit("equal positions"))


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
        look = {"mec": _colour(row), "ms": 4.5, "label": f"{row['lane']}, all reviews"}
        axes.plot(row["mean"], lanes.index(row["lane"]) + 0.22, "D", **OPEN, **look)


def _draw_damage(axes: Axes, doses: pl.DataFrame, lanes: list[str]) -> None:
    doses = doses.filter(pl.col("kl").is_not_null())
    if doses.is_empty():
        mark_empty(axes, "no next token", ticks=False)
        return
    _set_root_scale(axes)
    for row in doses.iter_rows(named=True):
        lane = lanes.index(row["lane"])
        axes.hlines(lane, 0, row["kl"], color=_colour(row), lw=STRONG)
        axes.plot(row["kl"], lane, "o", color=_colour(row), ms=4, label=row["lane"])
        number = significant(row["kl"] if row["kl"] > _ROUNDING else 0, 2)
        axes.annotate(number, (row["kl"], lane), (6, 0), textcoords="offset points", va="center", fontsize=8)
    largest = doses["kl"].max()
    axes.set_xlim(0, max(1.7 * largest, 1e-6))  # room for the numbers
    _set_root_ticks(axes, largest)


def _colour(row: Mapping[str, str]) -> str:
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
    """The conditions at the left of a row, with the numbers of reviews whose sink moved."""
    names = dict.fromkeys(lanes, "")
    for row in doses.iter_rows(named=True):
        if row["n_sink_moved"]:
            names[row["lane"]] = f"sink moved in {row['n_sink_moved']} of {row['n_reviews']}"
    labels = ["\n".join(filter(None, of_lane)) for of_lane in names.items()]
    for index, axes in enumerate(axes_of_row):
        axes.set_yticks(range(len(lanes)), labels if index == 0 else [])
        axes.set_ylim(len(lanes) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)


def _handles_of_conditions(doses: pl.DataFrame) -> list[Line2D]:
    present = set(doses["kind"])
    handles = [handle(style.label, style, ms=5) for kind, style in CONDITIONS.items() if kind in present]
    if (doses["pattern"] == _CONTROL).any():
        handles.append(handle("control: a random key masked", CONDITIONS["masked"]._replace(colour=GREY), ms=5))
    if (doses["n_sink_moved"] > 0).any():
        handles.append(marker_handle("mean over all reviews, also those whose sink moved", "D", **OPEN, ms=4.5))
    return handles


def _note_on_conditions(doses: pl.DataFrame, effects: pl.DataFrame) -> str:
    note = f"n = {counted(doses['n_reviews'])}"
    if len(untested := effects.filter(verdict=NOT_TESTED)):
        note += f"; not tested, and without a point: conditions with {counted(untested['n_reviews'])}"
    return note


_LIKENESS = {  # column of the table -> label, sign of the change where tokens grow alike
    "cosine": ("Δ mean cosine", 1),
    "rank": ("Δ centred effective rank", -1),
}
_HARM = {
    "kl": "KL of the next token (nats)",
    "probe": "Δ log-loss of the probe (nats)",
}
_SMALLEST, _LARGEST = 4.0, 8.0  # markers of the least and the largest strength, points
_RING = {"ls": "", "marker": "o", "mfc": "none", "ms": 11, "mew": 0.7}  # another token took over the sink


def harm(tables: Tables, shown: Shown) -> Figure:
    """How much more alike a condition makes tokens, against what that costs.

    Rows are models and measures of likeness, columns kinds of harm; a point is a condition, with intervals both ways.
    """
    table = required(tables["harm"], shown, of=("model",)).with_columns(_name_in_harm().alias("name"))
    styles = _styles_in_harm(table)
    markers = _marker_sizes(table["strength"])
    models = named_in(shown.models, table["model"])
    rows = [((model, likeness), label) for model, label in models for likeness in _LIKENESS]
    panels = Panels(("", [(cost, "") for cost in _HARM]), (("model", ""), rows), height=2.5)
    for ((_, likeness), cost), axes, of_model in panels.parts(table):
        label, homogenization = _LIKENESS[likeness]
        drawn = of_model.filter(pl.col(likeness).is_finite(), pl.col(cost).is_finite())
        if drawn.is_empty():
            mark_empty(axes, "no next token" if cost == "kl" else "not measured", ticks=False)
        else:
            _draw_harm(axes, drawn, (likeness, cost), styles, markers)
            tint_alike(axes, homogenization, along_x=True)
        axes.set(xlabel=label, ylabel=_HARM[cost])
    handles = [
        handle("placebo: " * style.control + style.label, style, ls="", **OPEN if style.control else {})
        for style in styles.values()
    ]
    if (table["n_sink_moved"] > 0).any():
        handles.append(handle("another token took over the sink", **_RING, mec=GREY))
    return panels.finish(shown.title, f"n = {counted(table['n_reviews'])}", handles)


def _name_in_harm() -> pl.Expr:
    """The pattern of steering; kind and pattern of another condition; blocks where they are not all."""
    steered = pl.col("kind") == "steering"
    name = pl.when(steered).then("pattern").otherwise(pl.concat_str("kind", pl.lit(" "), "pattern"))
    some = steered & (pl.col("blocks") != "all")
    return pl.when(some).then(pl.concat_str(name, pl.lit(", blocks "), "blocks")).otherwise(name)


def _styles_in_harm(table: pl.DataFrame) -> dict[str, LineStyle]:
    """The style of each name: of steering that of its pattern in every figure; a placebo is grey and open."""
    known = {name: (kind, placebo) for name, kind, placebo in table.select("name", "kind", "placebo").unique().rows()}
    styles = pattern_styles(name for name, (kind, _) in known.items() if kind == "steering")
    others = zip(sorted(known.keys() - styles), cycle(OTHER_CONDITIONS), strict=False)
    styles |= {name: style._replace(label=name.replace("_", " ")) for name, style in others}
    placebos = zip((name for name in styles if known[name][1]), cycle(PLACEBO_MARKERS), strict=False)
    greys = {name: styles[name]._replace(colour=GREY, marker=marker, control=True) for name, marker in placebos}
    return {name: style for name, style in styles.items() if name not in greys} | greys


def _marker_sizes(strengths: pl.Series) -> dict[float, float]:
    """Size in points of the marker of each strength; infinity stands for a condition without one."""
    ordered = strengths.drop_nulls().unique().sort().to_list()
    sizes = dict(zip(ordered, np.linspace(_SMALLEST, _LARGEST, len(ordered)), strict=True))
    return sizes | {np.inf: (_SMALLEST + _LARGEST) / 2}


def _draw_harm(
    axes: Axes,
    table: pl.DataFrame,
    columns: tuple[str, str],
    styles: Mapping[str, LineStyle],
    markers: Mapping[float, float],
) -> None:
    """A point for each condition, larger for a larger strength; a line joins those of a pattern, from no dose on."""
    axes.axhline(0, color=DARK, lw=FINE)
    axes.axvline(0, color=DARK, lw=FINE)
    for name, style in styles.items():
        rows = table.filter(name=name).sort("strength")
        if rows.is_empty():
            continue
        x, y = (rows[column].to_numpy() for column in columns)
        reach = dict(zip(("xerr", "yerr"), (_reach(rows, column) for column in columns), strict=True))
        axes.errorbar(x, y, **reach, fmt="none", ecolor=style.colour, elinewidth=FINE, alpha=0.7)
        if (rows["kind"] == "steering").all():
            axes.plot([0.0, *x], [0.0, *y], color=style.colour, ls=style.dashes, lw=HAIR, alpha=0.6)
        look = {"ls": "", "marker": style.marker, "color": style.colour, "label": name} | (
            OPEN if style.control else {}
        )
        for *place, strength in zip(x, y, rows["strength"].fill_null(np.inf), strict=True):
            axes.plot(*place, **look, ms=markers[strength])
        moved = rows["n_sink_moved"].to_numpy() > 0
        axes.plot(x[moved], y[moved], **_RING, mec=style.colour)


def _reach(rows: pl.DataFrame, column: str) -> list[np.ndarray]:
    """How far the intervals of a column go below its values, and above."""
    below, above = rows[column] - rows[f"{column}_low"], rows[f"{column}_high"] - rows[column]
    return [below.clip(0).to_numpy(), above.clip(0).to_numpy()]


def _pattern_handles(styles: Mapping[str, LineStyle]) -> list[Artist]:
    """Legend entries of patterns; a control says so."""
    return [handle("control: " * style.control + style.label, style) for style in styles.values()]


def _chosen_variant(variants: pl.Series) -> str:
    """The originals where they are among `variants`, else the first by name."""
    present = variants.unique().sort().to_list()
    return ORIGINAL if ORIGINAL in present else present[0]


def _views_of(table: pl.DataFrame, metric: str) -> Sequence[str]:
    """The views of a metric that have a row of panels."""
    return views_present(table, _VIEWS.get(metric, _SPECTRAL_VIEWS))


def _rows_of_panels(table: pl.DataFrame, shown: Shown, by_blocks: bool = False) -> Facet:
    """Rows of panels: models and views, or, where `by_blocks` there are several ranges, models and ranges.

    Ranges stand in rows for the last view alone, which the label does not name.
    """
    views = _views_of(table, shown.metric)
    names = table["blocks"].unique().sort().to_list() if by_blocks else []
    ranges = [name for name in BLOCK_NAMES if name in names] + [name for name in names if name not in BLOCK_NAMES]
    columns, cells = ("model", "view"), {(view,): view_label(view) for view in views}
    if len(ranges) > 1:
        columns = ("model", "view", "blocks")
        cells = {(views[-1], blocks): _range_label(blocks) for blocks in ranges}
    present = set(table.select(columns).iter_rows())
    rows = [((model, *cell), f"{label}; {what}") for model, label in shown.models for cell, what in cells.items()]
    return columns, [(row, label) for row, label in rows if row in present]


def _range_label(blocks: str) -> str:
    """`all blocks`, `middle blocks`, `blocks 1,2`."""
    return f"{blocks} blocks" if blocks in BLOCK_NAMES else f"block{'s' * (',' in blocks)} {blocks}"


def _set_root_scale(axes: Axes) -> None:
    """A horizontal axis from 0 on the scale of the root, on which the answer to small doses is a straight line."""
    axes.set_xscale("function", functions=(lambda kl: np.sqrt(np.clip(kl, 0, None)), np.square))


def _set_root_ticks(axes: Axes, largest: float) -> None:
    """Three ticks from 0 to at most `largest`, which do not crowd on a root scale."""
    size = 10.0 ** np.floor(np.log10(max(largest, 1e-12)))
    step = size * max(factor for factor in (0.5, 1, 2, 5) if factor * size <= largest) if largest >= 1e-12 else 0.0
    ticks = [0.0, step / 5, step] if step > 0 else [0.0]
    axes.set_xticks(ticks, [typeset(f"{tick:g}") for tick in ticks])
