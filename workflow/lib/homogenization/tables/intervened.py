"""The tables `intervened`, `intervened_layers` and `doses`: runs whose attention was changed, reduced job by job."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_table, read_tables
from homogenization.tables.over_reviews import keep_accepted, summarise
from homogenization.tables.regions import at_layers, yardsticks

UNTOUCHED = "untouched"  # the kind; a module that knows the metrics would make figures again for a new one
LAYERS = ("all", "first", "middle", "last", "output")
CONDITION = ("kind", "pattern", "blocks", "strength")
_RUN = ("model", "variant")
#: Runs whose attention was changed: a row for each review, condition, part of the depth, metric and view. Made where
#: `interventions` is configured, like the next tables. Only accepted reviews of a variant stand in it.
INTERVENED_BY_REVIEW_SCHEMA = {
    **columns("model", "variant", "review_id"),
    **columns(*CONDITION, "layers", "view"),
    **columns("metric"),
    "value": pl.Float64,  #: the metric, averaged over these layers
    #: that of the untouched run over the same tokens: `without_first` leaves out what is massive in either run
    "untouched": pl.Float64,
    **columns("kl", "sink_moved", "branch_norm"),
    #: what a change is measured by, as in [contrasts](#contrastsparquet), in the untouched run of these reviews
    "yardstick": pl.Float64,
}
#: A row for each condition, layer, metric and view: means over all reviews with their 95 % intervals. They
#: describe; a review whose sink moved counts too, and nothing is tested.
INTERVENED_LAYERS_SCHEMA = {
    **columns("model", "variant"),
    **columns(*CONDITION, "layer"),
    **columns("depth"),
    **columns("view"),
    **columns("metric", "n_reviews"),
    "mean": pl.Float64,  #: mean over reviews of the change from the untouched run; of `untouched`, the metric itself
    **columns("ci_low", "ci_high"),
}
_MEANS = ("kl", "cross_entropy", "moved_mass", "n_massive")
#: A row for each condition: what it did to attention and to the model, mean over reviews ([what is
#: measured](causes.md#what-is-measured)).
DOSE_MEANS_SCHEMA = {
    **columns("model", "variant"),
    **columns(*CONDITION),
    **columns("n_reviews"),
    **columns("n_sink_moved", "kl", "cross_entropy"),
    "moved_mass": pl.Float64,  #: mean total variation of the weights before and after: the mass that masked keys lose
    "n_massive": pl.Float64,  #: massive tokens
}
SCHEMAS = {
    "intervened": INTERVENED_BY_REVIEW_SCHEMA,
    "intervened_layers": INTERVENED_LAYERS_SCHEMA,
    "doses": DOSE_MEANS_SCHEMA,
}
_CELL = ("layer", "depth", "view", "metric")


def by_review(intervened: pl.DataFrame, doses: pl.DataFrame) -> pl.DataFrame:
    """Each review's metrics in each condition, averaged over parts of the depth: `INTERVENED_BY_REVIEW_SCHEMA`.

    Random draws of one condition are averaged; the sink has moved in them if it has in one. A value that is NaN is
    left out.

    Args:
        intervened: rows of a model and variant (`INTERVENED_SCHEMA`).
        doses: their doses (`DOSES_SCHEMA`).
    """
    rows = _with_condition(intervened, doses)
    keys = [*_RUN, "review_id", *CONDITION, "view", "metric"]
    aggregates = [pl.col("value", "untouched").mean(), pl.col("kl").mean(), pl.col("sink_moved", "branch_norm").max()]
    parts = [
        rows.filter(at_layers(layers))
        .group_by(keys, maintain_order=True)
        .agg(*aggregates)
        .with_columns(pl.lit(layers).alias("layers"))
        for layers in LAYERS
    ]
    sizes = yardsticks(rows.filter(kind=UNTOUCHED), ["metric"])
    table = pl.concat(parts).join(sizes, on=("view", "metric"), how="left", maintain_order="left")
    return table.select(*INTERVENED_BY_REVIEW_SCHEMA).cast(INTERVENED_BY_REVIEW_SCHEMA)


def by_layer(intervened: pl.DataFrame, doses: pl.DataFrame) -> pl.DataFrame:
    """Each condition's change of each metric at each layer, minus the untouched run: `INTERVENED_LAYERS_SCHEMA`.

    The rows of `untouched` have the metric itself. Means are over all reviews, those whose sink moved too, with their
    95 % intervals. Arguments are those of `by_review`.
    """
    rows = _with_condition(intervened, doses)
    numbers = pl.col("value", "untouched").mean()
    rows = rows.group_by(*_RUN, "review_id", *CONDITION, *_CELL, maintain_order=True).agg(numbers)
    change = pl.when(kind=UNTOUCHED).then("value").otherwise(pl.col("value") - pl.col("untouched"))
    means = summarise(rows.with_columns(change), (*_RUN, *CONDITION, *_CELL), "value")
    return means.select(*INTERVENED_LAYERS_SCHEMA).cast(INTERVENED_LAYERS_SCHEMA)


def dose_means(doses: pl.DataFrame) -> pl.DataFrame:
    """Mean over reviews of what each condition did to attention and to predictions: the table `doses`.

    `doses` are those of a model and variant.
    """
    of_review = (
        doses.with_columns(without_draw())
        .group_by(*_RUN, "review_id", *CONDITION, maintain_order=True)
        .agg(pl.col("sink_moved").max(), *(pl.col(name).fill_nan(None).mean() for name in _MEANS))
    )
    return (
        of_review.group_by(*_RUN, *CONDITION, maintain_order=True)
        .agg(
            pl.col("sink_moved").count().alias("n_reviews"),
            pl.col("sink_moved").sum().alias("n_sink_moved"),
            *(pl.col(name).mean() for name in _MEANS),
        )
        .select(*DOSE_MEANS_SCHEMA)
        .cast(DOSE_MEANS_SCHEMA)
    )


def without_draw() -> pl.Expr:
    """The pattern without the number of its random draw: `random` for `random_2`."""
    return pl.col("pattern").str.replace(r"^random_\d+$", "random")


def _with_condition(intervened: pl.DataFrame, doses: pl.DataFrame) -> pl.DataFrame:
    """`intervened` without NaN, with what its conditions are; in an order that no order of jobs decides."""
    dose = doses.with_columns(without_draw()).select(
        *_RUN, "review_id", "condition", *CONDITION, "kl", "sink_moved", "branch_norm"
    )
    return (
        intervened.filter(pl.col("value").is_not_nan())
        .join(dose, on=(*_RUN, "review_id", "condition"))
        .sort(*_RUN, *CONDITION, "condition", "metric", "view", "review_id", "layer", nulls_last=False)
    )


def tabulate(
    intervened: Sequence[str], doses: Sequence[str], similarity: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The tables `intervened`, `intervened_layers` and `doses`; the files of one run are in memory at a time.

    Args:
        intervened: files of metrics of all jobs.
        doses: files of doses of the same jobs, in the same order.
        similarity: the table `similarity`, which says which reviews are accepted.
    """
    all_doses = [read_table(path) for path in doses]
    files: dict[tuple[str, str], list[int]] = {}
    for place, table in enumerate(all_doses):
        for run in table.select(_RUN).unique().rows():
            files.setdefault(run, []).append(place)
    parts = [tuple(pl.DataFrame(schema=schema) for schema in SCHEMAS.values())]
    for _, places in sorted(files.items()):
        of_run = keep_accepted(pl.concat(all_doses[place] for place in places), similarity)
        rows = read_tables([intervened[place] for place in places])
        parts.append((by_review(rows, of_run), by_layer(rows, of_run), dose_means(of_run)))
    return tuple(map(pl.concat, zip(*parts, strict=True)))
