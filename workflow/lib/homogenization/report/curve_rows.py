"""What the page of curves holds: each curve as lists over the points of its model, within a bound of the bytes.

A *cell* is a metric in a view. A *point* is a layer of the residual stream, or the state after the final norm, which
comes last. A mean has five significant digits, and the distances of the ends of its interval from it have three. What
is not finite is None.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.measures.views import VIEWS, look_of
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.names.points import FINAL_NORM
from homogenization.names.prose import grouped
from homogenization.names.verdicts import DECIDED, NEGLIGIBLE, UNDECIDED
from homogenization.statistics.estimates import margin_of

VERDICTS = (UNDECIDED, NEGLIGIBLE, *DECIDED)

_DIGITS, _DIGITS_OF_ENDS = 5, 3  # significant ones: a mean near 1 needs them
KEYS = ("metric", "view", "model", "variant")
_DIFFERENCE = (*KEYS, "minus")
_POINT = ("point", "layer", "depth")

Cell = tuple[str, str]


@dataclass(frozen=True)
class Rows:
    """The curves and differences of some cells.

    Attributes:
        cells: (metric, view) in the order of importance.
        points: by model, the layer and the depth of its points in order; depth is None after the final norm.
        curves: each with the keys metric, view, model, variant; mean, and below and above, the distances of the ends of
            its interval, lists over the points; and n, the number of reviews, a list where it is not the same at all
            points. An interval that is symmetric at all points has no key above.
        differences: as `curves`, with the key minus; also verdict, a list of places in `VERDICTS`; range, what depth
            does to the metric in the model, or None; and bound, the largest size that is negligible, or None.
        left_out: cells that the bound leaves no room for, in the same order.
    """

    cells: list[Cell]
    points: dict[str, dict[str, list[Any]]]
    curves: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    left_out: list[Cell]


def rows_within(
    summary: pl.DataFrame,
    contrasts: pl.DataFrame,
    *,
    metrics: Sequence[str],
    views: Sequence[str],
    margin: float,
    most_bytes: int,
) -> Rows:
    """The curves of a study, as many cells of them as fit in.

    Args:
        summary: rows of the table `summary` that are shown.
        contrasts: rows of the table `contrasts` that are shown, those that are not tested left out.
        metrics: names of the metrics in the order of the page.
        views: names of the views in the order of the page.
        margin: share of what depth does to a metric, or of how far reviews lie apart, that is negligible.
        most_bytes: size as JSON that the curves and differences do not exceed; the first cell has its place anyway.
    """
    cells = _in_order(summary, set(contrasts["metric"]), metrics, views)
    points = _points(pl.concat([summary.select("model", *_POINT), contrasts.select("model", *_POINT)]))
    contrasts = contrasts.with_columns(
        pl.col("verdict").replace_strict({name: place for place, name in enumerate(VERDICTS)}, return_dtype=pl.Int64),
        pl.Series("bound", margin_of(margin, *contrasts.select("depth_range", "review_sd").to_numpy().T)),
        range="depth_range",
    )
    of_curve = grouped(_curves(summary, points, KEYS), _cell)
    verdict_and_sizes = (pl.col("verdict"), *(_rounded(pl.col(name).first()) for name in ("range", "bound")))
    of_difference = grouped(_curves(contrasts, points, _DIFFERENCE, *verdict_and_sizes), _cell)
    kept, curves, differences, size = [], [], [], 0
    for cell in cells:
        new = of_curve.get(cell, []), of_difference.get(cell, [])
        size += sum(_size(row) for rows in new for row in rows)
        if kept and size > most_bytes:
            break
        kept.append(cell)
        curves += new[0]
        differences += new[1]
    of_models = points.partition_by("model", as_dict=True, maintain_order=True).items()
    listed = {model: rows.select("layer", "depth").to_dict(as_series=False) for (model,), rows in of_models}
    return Rows(kept, listed, curves, differences, cells[len(kept) :])


def as_json(value: Any) -> str:
    """`value` in as few characters as JSON allows."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def headlines_first(metrics: Iterable[str]) -> list[str]:
    """`metrics` in their order, after those of `HEADLINE_METRICS` that are among them."""
    places = {name: place for place, name in enumerate(HEADLINE_METRICS)}
    return sorted(metrics, key=lambda name: places.get(name, len(places)))


def view_shown(view: str, present: Sequence[str]) -> str | None:
    """The view of a metric that is shown where `view` is chosen.

    Args:
        view: a view of the page.
        present: views that the metric has. Metrics of directions, norms and attention have `all_tokens` or
            `without_first`: the one with the same tokens is shown, or the only one.

    Returns:
        A view of `present`; None if the metric has other views of its spectrum alone.
    """
    if view in present:
        return view
    of_tokens = [name for name in present if name not in VIEWS]
    tokens = view if view not in VIEWS else WITHOUT_FIRST if look_of(view)[1] else ALL_TOKENS
    return tokens if tokens in of_tokens else of_tokens[0] if of_tokens else None


def _in_order(summary: pl.DataFrame, contrasted: set[str], metrics: Sequence[str], views: Sequence[str]) -> list[Cell]:
    """The cells of `summary`, the most important first.

    These are the first view of all metrics, headline and contrasted ones before others, and then their other views.
    """
    there = set(summary.select("metric", "view").unique().rows())
    of_metric = {metric: [view for view in views if (metric, view) in there] for metric in headlines_first(metrics)}
    ordered = sorted(of_metric, key=lambda metric: metric not in HEADLINE_METRICS and metric not in contrasted)
    first = [(metric, view) for metric in ordered for view in of_metric[metric][:1]]
    return first + [(metric, view) for metric in ordered for view in of_metric[metric][1:]]


def _points(there: pl.DataFrame) -> pl.DataFrame:
    """model, index, point, layer, depth (null after the final norm): the points of each model in order."""
    is_final = pl.col("point") == FINAL_NORM
    return (
        there.unique()
        .sort("model", is_final, "layer")
        .with_columns(
            pl.when(~is_final).then("depth").alias("depth"), pl.int_range(pl.len()).over("model").alias("index")
        )
    )


def _curves(table: pl.DataFrame, points: pl.DataFrame, keys: Sequence[str], *also: pl.Expr) -> Iterator[dict[str, Any]]:
    """A row for each curve of `table`, sorted by `keys`, with lists over the `points` of its model, and `also`."""
    grid = table.select(keys).unique().join(points.drop("depth"), on="model").sort(*keys, "index")
    filled = grid.join(table, on=[*keys, "point", "layer"], how="left", maintain_order="left")
    mean = pl.col("mean")
    lists = filled.group_by(keys, maintain_order=True).agg(
        _rounded(mean),
        _rounded(mean - pl.col("ci_low"), _DIGITS_OF_ENDS).alias("below"),
        _rounded(pl.col("ci_high") - mean, _DIGITS_OF_ENDS).alias("above"),
        pl.col("n_reviews").alias("n"),
        *also,
    )
    for row in lists.iter_rows(named=True):
        if row["above"] == row["below"]:
            del row["above"]
        counts = {count for count in row["n"] if count is not None}
        yield row | ({"n": counts.pop()} if len(counts) == 1 else {})


def _rounded(numbers: pl.Expr, digits: int = _DIGITS) -> pl.Expr:
    return pl.when(numbers.is_finite()).then(numbers.round_sig_figs(digits))


def _size(row: Mapping[str, Any]) -> int:
    """Bytes of a row on the page, where places stand for names."""
    return len(as_json({key: value for key, value in row.items() if key not in _DIFFERENCE})) + len(_DIFFERENCE) * 7


def _cell(row: Mapping[str, Any]) -> Cell:
    return row["metric"], row["view"]
