"""The figure of the attention that tokens receive, by their position in the review, in a few blocks of each model."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.accepted import accepted
from homogenization.figures.panels import (
    axis_label,
    finish,
    label_outer,
    mark_empty,
    panel_grid,
    set_log_scale,
    variant_handles,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import DARK, VariantStyle, house_style, variant_styles

_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table attention: a row for each model, a column for each block, a line for each variant.

    Raises:
        HomogenizationError: the table holds nothing of these variants and models.
    """
    table = rows_of(tables["attention"], shown)
    require_rows(table, shown, "attention received", tables["attention"]["model"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    styles = variant_styles(shown.variants)
    blocks = {model: _chosen_blocks(table.filter(pl.col("model") == model)["layer"]) for model, _ in shown.models}
    columns = [(str(index), "") for index in range(max(len(chosen) for chosen in blocks.values()))]
    figure, panels = panel_grid(columns, shown.models, row_height=2.3, max_columns=len(_FRACTIONS), share_y=True)
    y_labels = {}
    for model, _ in shown.models:
        of_model = table.filter(pl.col("model") == model)
        logarithmic = _spans_a_decade(of_model)
        y_labels[model] = axis_label("Attention received by a token", logarithmic)
        for (column, _), block in zip(columns, blocks[model] + [None] * len(columns), strict=False):
            axes = panels[model, column]
            if block is None:
                _show_nothing(axes, first=column == "0")
                continue
            rows = of_model.filter(pl.col("layer") == block).sort("bin")
            axes.set_title(f"block {block} (depth {rows['depth'][0]:.2f})", weight="normal")
            _draw_profile(axes, rows, styles)
            if logarithmic:
                set_log_scale(axes)
    label_outer(panels, "Position in the review", y_labels)
    handles = [*variant_handles(reviews.variants, styles, set(table["variant"])), *reviews.left_out]
    if table["uniform"].is_finite().any():
        handles.append(Line2D([], [], color=DARK, ls="--", lw=1, label="uniform attention"))
    note = (
        f"Line: mean, band: its 95 % confidence interval over reviews; {reviews.counts}. Position 0: the first token, "
        "which is left out here, 1: the last. A token receives the sum over all queries, averaged over heads; dashed: "
        "what it would receive if each query spread its attention evenly over the tokens that it can see."
    )
    return finish(figure, shown.title, note, handles)


def _chosen_blocks(layers: pl.Series) -> list[int]:
    """The first and last block and those nearest to a quarter, half and three quarters of the depth."""
    present = np.unique(layers.to_numpy())
    if present.size == 0:
        return []
    wanted = [present[np.abs(present - fraction * present[-1]).argmin()] for fraction in _FRACTIONS]
    return sorted({int(block) for block in wanted})


def _show_nothing(axes: Axes, first: bool) -> None:
    """A model with fewer blocks than columns leaves panels empty; one without attention says so in the first."""
    if first:
        mark_empty(axes, "no attention")
        axes.set_xticks([])
    else:
        axes.set_axis_off()


def _draw_profile(axes: Axes, rows: pl.DataFrame, styles: dict[str, VariantStyle]) -> None:
    """Draw the lines of one block of one model with their bands, and the uniform baseline."""
    for name, style in styles.items():
        of_variant = rows.filter(pl.col("variant") == name)
        place, low, high = (of_variant[column].to_numpy() for column in ("relative_position", "ci_low", "ci_high"))
        axes.fill_between(place, low, high, color=style.colour, alpha=0.18, lw=0)
        axes.plot(
            place, of_variant["received"].to_numpy(), color=style.colour, ls=style.dashes, marker=style.marker,
            ms=3, markevery=4, label=name,
        )  # fmt: skip
    uniform = rows.filter(pl.col("uniform").is_finite()).group_by("relative_position").agg(pl.col("uniform").mean())
    uniform = uniform.sort("relative_position")
    axes.plot(uniform["relative_position"], uniform["uniform"], color=DARK, ls="--", lw=1, label="uniform")
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])


def _spans_a_decade(rows: pl.DataFrame) -> bool:
    values = np.concatenate([rows[column].to_numpy() for column in ("received", "uniform")])
    values = values[np.isfinite(values) & (values > 0)]
    return values.size > 0 and values.max() >= 10 * values.min()
