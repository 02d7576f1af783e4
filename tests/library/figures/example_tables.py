"""Tables that figures of texts, states and contrasts are drawn of, with the columns of their schemas."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from drawings import VARIANTS, N
from homogenization.figures.lines import FIRST_TOKEN_METRICS
from homogenization.figures.shown import names_of
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.statistics.extrema import EXTREMA_SCHEMA
from homogenization.tables.balance import BALANCE_SCHEMA
from schemas import schema_of

BLOCKS = {"alpha": 6, "beta": 4}
DEEPER = {"alpha": 8, "beta": 4}
_ENDS = {"low": -0.2, "high": 0.3}  # of an interval, from its mean


def value_of(model: str, variant: str, depth: float, scale: float = 1.0) -> float:
    """The number of a row where a table has no other."""
    return scale * (2 + depth + 0.1 * len(variant) + 0.01 * len(model))


def example_table(file: str, blocks: Mapping[str, int] = BLOCKS, /, **columns: Any) -> pl.DataFrame:
    """A table like results/tables/`file`, with a row for each combination of the values of its columns.

    Args:
        file: name of the file.
        blocks: number of blocks of each model.
        columns: of a column its values (a list), its one value, or a function of the row so far that gives either;
            what the schema lacks stands first in a row, for functions, and not in the table.
    """
    schema = schema_of(file)
    given = {name: columns[name] for name in columns if name not in schema}
    given |= {name: columns.get(name, _default(name, dtype, blocks)) for name, dtype in schema.items()}
    # functions come after what they are of, and numbers last
    turn = {name: callable(value) + (schema.get(name) == pl.Float64) * callable(value) for name, value in given.items()}
    rows = [{}]
    for name in sorted(given, key=turn.__getitem__):
        rows = [row | {name: value} for row in rows for value in _values(given[name], row)]
    return pl.DataFrame(rows, schema=schema)


def _values(given: Any, row: dict) -> list:
    value = given(row) if callable(given) else given
    return value if isinstance(value, list) else [value]


def _default(name: str, dtype: pl.DataType, blocks: Mapping[str, int]) -> Any:
    """What a column holds where an example does not say it."""
    known = {
        "model": list(blocks),
        "variant": names_of(VARIANTS),
        "point": RESIDUAL_STREAM,
        "layer": lambda row: list(
            range(blocks[row["model"]] * (row.get("point") == FINAL_NORM), blocks[row["model"]] + 1)
        ),
        "block": lambda row: list(range(1, blocks[row["model"]] + 1)),
        "depth": lambda row: row.get("layer", row.get("block")) / blocks[row["model"]],
        "view": ["raw", "raw_without_first"],
        "metric": "effective_rank",
    }
    if name in known:
        return known[name]
    stem, _, end = name.rpartition("_")
    if dtype == pl.Float64 and end in _ENDS:
        return lambda row: next(row[near] for near in (stem, "mean", "estimate") if near in row) + _ENDS[end]
    if dtype == pl.Float64:
        return lambda row: value_of(row.get("model") or "", row.get("variant") or "", row.get("depth") or 0.0)
    return {pl.Int64: N, pl.Int32: N, pl.Boolean: False}.get(dtype)


POINTS = [RESIDUAL_STREAM, FINAL_NORM]


def summary_table(metric="effective_rank", views=("raw", "raw_without_first"), blocks=BLOCKS, variants=VARIANTS):
    """After the final norm, half of the value before it."""
    return example_table(
        "summary.parquet",
        blocks,
        variant=names_of(variants),
        point=POINTS,
        view=list(views),
        metric=metric,
        mean=lambda row: value_of(row["model"], row["variant"], row["depth"], 1 - 0.5 * (row["point"] == FINAL_NORM)),
    )


def first_token_table(metrics=FIRST_TOKEN_METRICS):
    return pl.concat([summary_table(metric, ("all_tokens",)) for metric in metrics])


def attention_table(blocks=BLOCKS, uniform=lambda place: 3 * np.exp(-4 * place)):
    return example_table(
        "attention.parquet",
        blocks,
        layer=lambda row: list(range(1, blocks[row["model"]] + 1)),
        bin=list(range(20)),
        relative_position=lambda row: (row["bin"] + 0.5) / 20,
        received=lambda row: uniform(row["relative_position"]) * 2.0 ** row["depth"],
        ci_low=lambda row: row["received"] * 0.9,
        ci_high=lambda row: row["received"] * 1.2,
        uniform=lambda row: uniform(row["relative_position"]),
    )


def mauve_table(null=True):
    def rows(kind, mean):
        return example_table(
            "mauve.parquet",
            layer_to=lambda row: list(range(kind == "consecutive", BLOCKS[row["model"]] + 1)),
            layer_from=lambda row: 0,
            depth=lambda row: row["layer_to"] / BLOCKS[row["model"]],
            kind=kind,
            mean=lambda row: mean + 0.001 * len(row["variant"]) + 0.01 * row["layer_to"],
            low=lambda row: row["mean"] - 0.02,
            high=lambda row: row["mean"] + 0.01,
            n_values=6,
        )

    return pl.concat([rows("consecutive", 0.5), *([rows("null", 0.95)] if null else [])])


def similarity_table(random_pairs=True, variants=VARIANTS[1:]):
    names = names_of(variants)

    def rows(f1, **columns):
        number = list(range(N))
        return example_table(
            "similarity.parquet", number=number, review_id=lambda row: f"{row['number']:012x}", f1=f1, **columns
        )

    scored = rows(lambda row: 0.8 + 0.004 * row["number"] - 0.01 * names.index(row["variant"]), variant=names)
    pairs = rows(lambda row: 0.5 + 0.002 * row["number"], variant="random_pairs", accepted=None)
    accepted = scored.with_columns(accepted=pl.col("f1") >= 0.85)
    return pl.concat([accepted, pairs]) if random_pairs else accepted


def placement_table(variants=VARIANTS):
    def after(row):
        places = {"front": 0.0 if row["number"] % 4 else 0.05, "end": 1.0, "original": row["original_position"]}
        return places.get(row["variant"], 1 - row["original_position"])

    placed = example_table(
        "placement.parquet",
        number=list(range(N)),
        variant=names_of(variants),
        review_id=lambda row: f"{row['number'] % 10:012x}",
        phrase="phrase",
        sentence=lambda row: row["number"] // 10,
        original_position=lambda row: row["number"] / (N - 1),
        position=after,
    )
    whole = placed.unique("variant", maintain_order=True).with_columns(
        pl.lit("whole").alias("phrase"), pl.lit(None, pl.Float64).alias("original_position"), position=None
    )
    return pl.concat([placed, whole], how="vertical_relaxed")


NAMED = [*VARIANTS, ["inward", "Inward"]]
DIFFERENCES = {  # (variant, control) -> by covariate and model
    ("front", "scattered"): {("displacement", None): 1.5, ("first_word_changed", None): 0.0, ("tokens", "beta"): -0.3},
    ("front", "inward"): {("displacement", None): 0.25, ("first_word_changed", None): np.inf, ("tokens", "beta"): 0.1},
    ("end", "scattered"): {("displacement", None): np.nan, ("first_word_changed", None): -np.inf},
}
ROLES = {"scattered": "rewriting", "inward": None}


def balance_table(differences=DIFFERENCES):
    rows = [
        (variant, control, ROLES[control], model, covariate, 1.0, 1.0, smd, N, abs(smd) <= 0.25)
        for (variant, control), of_pair in differences.items()
        for (covariate, model), smd in of_pair.items()
    ]
    return pl.DataFrame(rows, schema=BALANCE_SCHEMA, orient="row")


PAIRS = [["front", "original"], ["end", "original"], ["scattered", "original"], ["front", "scattered"]]
CONTRASTED = "max_explainable_variance"


YARDSTICK = 0.5


def difference(variant, minus, depth):
    return 0.1 * (len(variant) - len(minus)) * (0.5 + depth) - 0.05


def contrasts_table(blocks=DEEPER, pairs=PAIRS, metric=CONTRASTED, views=("raw", "raw_without_first")):
    """A difference is significant in each second layer."""
    return example_table(
        "contrasts.parquet",
        blocks,
        variant=list(dict.fromkeys(variant for variant, _ in pairs)),
        minus=lambda row: [minus for variant, minus in pairs if variant == row["variant"]],
        point=POINTS,
        view=list(views),
        metric=metric,
        verdict=lambda row: "more alike" if row["layer"] % 2 else "undecided",
        mean=lambda row: difference(row["variant"], row["minus"], row["depth"]),
        ci_low=lambda row: row["mean"] - 0.02,
        ci_high=lambda row: row["mean"] + 0.03,
        yardstick=YARDSTICK,
    )


BRANCHES = ["norm_1", "attention", "attention_addition", "norm_2", "feed_forward", "feed_forward_addition"]


def components_table(blocks=DEEPER, variants=("original",), names=BRANCHES, n=6):
    @cache
    def noise(model, variant):
        return np.random.default_rng(len(model) + len(variant)).normal(size=(n, max(blocks.values()), len(names)))

    def change(row):
        place, n_review = names.index(row["component"]), int(row["review_id"], 16)
        noisy = noise(row["model"], row["variant"])[n_review, row["layer"] - 1, place]
        return 0.1 * (place - 2) + 0.02 * row["layer"] + 0.05 * noisy

    return example_table(
        "components.parquet",
        blocks,
        variant=list(variants),
        review_id=[f"{number:012x}" for number in range(n)],
        layer=lambda row: list(range(1, blocks[row["model"]] + 1)),
        component=list(names),
        view=["all_tokens", "without_first"],
        metric=["cosine_anisotropy", "singular_anisotropy"],
        change=change,
    )


MEV = "max_explainable_variance"


def extrema_tables():
    """Of two models, of which the first has a peak and a trough that reviews do not agree on."""
    names = {"view": "raw", "metric": MEV, "model": "alpha", "variant": "original"}
    extrema = [
        names | {"kind": "peak", "layer": 2, "depth": 1 / 3, "height": 2.4, "prominence_low": 0.1},
        names | {"kind": "trough", "layer": 4, "depth": 2 / 3, "height": 2.7, "prominence_low": -0.1},
    ]
    return {"summary": summary_table(MEV), "extrema": pl.DataFrame(extrema, schema=EXTREMA_SCHEMA)}
