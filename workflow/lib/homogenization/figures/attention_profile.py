"""The figure of the attention that tokens receive, by their position in the review, in a few blocks of each model."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.accepted import accepted
from homogenization.figures.grammar import Panels, draw_lines, handle, handles_of, mark_empty, set_log_scale
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import REFERENCE, variant_styles

_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table attention: a row for each model, a column for each block, a line for each variant."""
    table = rows_of(tables["attention"], shown)
    require_rows(table, shown, "attention received", tables["attention"]["model"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    styles = variant_styles(shown.variants, set(table["variant"]))
    blocks = {model: _chosen_blocks(table.filter(model=model)["layer"]) for model, _ in shown.models}
    columns = [(str(index), "") for index in range(max(map(len, blocks.values())))]
    panels = Panels(("", columns), ("model", shown.models), height=2.3, most_columns=len(_FRACTIONS), share_y=True)
    for (model, column), axes, of_model in panels.parts(table):
        if int(column) >= len(blocks[model]):  # a model with fewer blocks leaves panels empty
            if column == "0":
                mark_empty(axes, "no attention", ticks=False)
            else:
                axes.set_axis_off()
            continue
        block = blocks[model][int(column)]
        rows = of_model.filter(layer=block)
        axes.set_title(f"block {block} (depth {rows['depth'][0]:.2f})", weight="normal")
        values = ("received", "ci_low", "ci_high")
        draw_lines(axes, rows, styles, x="relative_position", y=values, markers=5, ms=3)
        uniform = rows.filter(pl.col("uniform").is_finite()).group_by("relative_position").agg(pl.col("uniform").mean())
        axes.plot(
            *uniform.sort("relative_position").select("relative_position", "uniform"), **REFERENCE, label="uniform"
        )
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        if _spans_a_decade(of_model):
            set_log_scale(axes)
    panels.label("Position in the review", "Attention received by a token")
    handles = [*handles_of(reviews.variants, styles), *reviews.left_out]
    if table["uniform"].is_finite().any():
        handles.append(handle("uniform attention", **REFERENCE))
    note = (
        f"Line: mean, band: its 95 % confidence interval over reviews; {reviews.counts}. Position 0: the first token, "
        "which is left out here, 1: the last. A token receives the sum over all queries, averaged over heads; dashed: "
        "what it would receive if each query spread its attention evenly over the tokens that it can see."
    )
    return panels.finish(shown.title, note, handles)


def _chosen_blocks(layers: pl.Series) -> list[int]:
    """The first and last block and those nearest to a quarter, half and three quarters of the depth."""
    present = np.unique(layers.to_numpy())
    if present.size == 0:
        return []
    wanted = [present[np.abs(present - fraction * present[-1]).argmin()] for fraction in _FRACTIONS]
    return sorted({int(block) for block in wanted})


def _spans_a_decade(rows: pl.DataFrame) -> bool:
    values = np.concatenate([rows[column].to_numpy() for column in ("received", "uniform")])
    values = values[np.isfinite(values) & (values > 0)]
    return values.size > 0 and values.max() >= 10 * values.min()
