"""Parts of the depth, by the names that claims and tables give them; and what differences are measured by."""

from collections.abc import Sequence

import polars as pl

from homogenization.measures.depth import REGIONS
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, view_without_first

_OUTPUT_DEPTH = 1.0
_PLAIN = (ALL_TOKENS, "raw")  # views of the tokens as they are
_WITHOUT = tuple(map(view_without_first, _PLAIN))
_ROUNDING = 1e-9  # relative to the values: a metric that varies by less over depth does not vary


def at_layers(name: str) -> pl.Expr:
    """Whether a row, by its column depth, is one of `all`, `output` or a region of `REGIONS`."""
    depth = pl.col("depth")
    if name in REGIONS:
        low, high = REGIONS[name]
        return (depth >= low) & (depth < high)
    return {"all": pl.lit(True), "output": depth >= _OUTPUT_DEPTH}[name]


def yardsticks(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What differences of a metric are measured by: `by`, view and yardstick, sorted; one number for all views.

    It is the range over the layers of the median over reviews or, where that is more, how far reviews lie apart: the
    median over the layers of the standard deviation over reviews (n - 1). Both are without the first token, where the
    metric has such a view: a massive first token alone makes most of a raw range. The median keeps single reviews out
    of it. The range, and not the change from the first layer to the last, keeps a metric that rises and falls again
    from having no size. Null where depth does not move the metric.

    Args:
        rows: columns of `by`, view, layer and value.
        by: columns that tell metrics apart.
    """
    value = pl.col("value")
    range_ = value.max() - value.min()
    moves = (range_ > _ROUNDING * value.abs().max()) | ((pl.len() == 1) & (pl.col("sd") > 0).any())
    of_views = (
        rows.filter(value.is_finite())
        .group_by(*by, "view", "layer")
        .agg(value.median(), value.sort().std().alias("sd"))  # sorted: sums in another order round differently
        .group_by(*by, "view")
        .agg(pl.when(moves).then(pl.max_horizontal(range_, pl.col("sd").median())).alias("yardstick"))
        .sort(*by, "view")
    )
    view = pl.col("view")
    # the plain view without the first token, else a view without it, else a plain one
    order = [~view.is_in(_WITHOUT), ~view.str.ends_with(WITHOUT_FIRST), ~view.is_in(_PLAIN), "view"]
    chosen = of_views.sort(*by, *order).group_by(by, maintain_order=True).agg(pl.col("yardstick").first())
    return of_views.select(*by, "view").join(chosen, on=by, maintain_order="left")
