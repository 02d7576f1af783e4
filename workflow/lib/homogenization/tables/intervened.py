"""The tables `intervened` and `doses`: runs whose attention was changed, reduced job by job."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_table, read_tables
from homogenization.tables.over_reviews import keep_accepted
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
_MEANS = ("kl", "cross_entropy", "moved_mass", "n_massive")
#: A row for each condition: what it did to attention and to the model, mean over reviews ([what is
#: measured](interventions.md#what-is-measured)).
DOSE_MEANS_SCHEMA = {
    **columns("model", "variant"),
    **columns(*CONDITION),
    **columns("n_reviews"),
    **columns("n_sink_moved", "kl", "cross_entropy"),
    "moved_mass": pl.Float64,  #: mean total variation of the weights before and after: the mass that masked keys lose
    "n_massive": pl.Float64,  #: massive tokens
}
SCHEMAS = {"intervened": INTERVENED_BY_REVIEW_SCHEMA, "doses": DOSE_MEANS_SCHEMA}


def tabulate(
    intervened: Sequence[str], doses: Sequence[str], similarity: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `intervened` and `doses` of files in the same order; those of one run are in memory at a time."""
    all_doses = [read_table(path) for path in doses]
    files: dict[tuple[str, str], list[int]] = {}
    for place, table in enumerate(all_doses):
        for run in table.select(_RUN).unique().rows():
            files.setdefault(run, []).append(place)
    parts = [tuple(pl.DataFrame(schema=schema) for schema in SCHEMAS.values())]
    for _, places in sorted(files.items()):
        of_run = keep_accepted(pl.concat(all_doses[place] for place in places), similarity)
        parts.append((by_review(read_tables([intervened[place] for place in places]), of_run), dose_means(of_run)))
    return tuple(map(pl.concat, zip(*parts, strict=True)))


def by_review(intervened: pl.DataFrame, doses: pl.DataFrame) -> pl.DataFrame:
    """Each review's metrics in each condition, averaged over parts of the depth: `INTERVENED_BY_REVIEW_SCHEMA`.

    Random draws of one condition are averaged; the sink has moved in them if it has in one. A value that is NaN is
    left out. `intervened` are rows of a model and variant (`INTERVENED_SCHEMA`), `doses` theirs (`DOSES_SCHEMA`).
    """
    keys = [*_RUN, "review_id", "condition"]
    dose = doses.with_columns(without_draw()).select(*keys, *CONDITION, "kl", "sink_moved", "branch_norm")
    order = (*_RUN, *CONDITION, "condition", "metric", "view", "review_id", "layer")  # not that of the jobs
    rows = intervened.filter(pl.col("value").is_not_nan()).join(dose, on=keys).sort(order, nulls_last=False)
    cell = [*_RUN, "review_id", *CONDITION, "view", "metric"]
    aggregates = [pl.col("value", "untouched", "kl").mean(), pl.col("sink_moved", "branch_norm").max()]
    parts = [
        rows.filter(at_layers(layers))
        .group_by(cell, maintain_order=True)
        .agg(aggregates)
        .with_columns(layers=pl.lit(layers))
        for layers in LAYERS
    ]
    sizes = yardsticks(rows.filter(kind=UNTOUCHED), ["metric"])
    table = pl.concat(parts).join(sizes, on=("view", "metric"), how="left", maintain_order="left")
    return table.select(*INTERVENED_BY_REVIEW_SCHEMA).cast(INTERVENED_BY_REVIEW_SCHEMA)


def dose_means(doses: pl.DataFrame) -> pl.DataFrame:
    """Mean over reviews of what each condition did to attention and to predictions: the table `doses`.

    `doses` are those of a model and variant.
    """
    of_draws = pl.col("sink_moved").max(), *(pl.col(name).fill_nan(None).mean() for name in _MEANS)
    keys = [*_RUN, *CONDITION]
    of_review = doses.with_columns(without_draw()).group_by(*keys, "review_id", maintain_order=True).agg(of_draws)
    counts = {"n_reviews": pl.col("sink_moved").count(), "n_sink_moved": pl.col("sink_moved").sum()}
    means = of_review.group_by(keys, maintain_order=True).agg(pl.col(_MEANS).mean(), **counts)
    return means.select(*DOSE_MEANS_SCHEMA).cast(DOSE_MEANS_SCHEMA)


def without_draw() -> pl.Expr:
    """The pattern without the number of its random draw: `random` for `random_2`."""
    return pl.col("pattern").str.replace(r"^random_\d+$", "random")
