"""Tables that figures of changed attention, of its harm and of training are drawn of."""

import numpy as np
import polars as pl

from dosed import COSINE, curves, intervened_rows, steering
from homogenization.consequences.schemas import OUTCOMES_OF_HARM
from homogenization.statistics.doses import Condition
from homogenization.statistics.interventions import effects_table
from homogenization.statistics.resampling import Resampling
from homogenization.tables.intervened import DOSE_MEANS_SCHEMA
from library.figures.example_tables import BLOCKS, example_table

N_CHANGED = 12  # reviews with changed attention
EFFECTS = {"first": 0.4, "removed": -0.2, "uniform": 0.1}


def not_tested(table):
    """`table` of effects or slopes as it is made of too few reviews."""
    numbers = ("estimate", "ci_low", "ci_high", "relative_effect", "p_value", "p_max_t")
    table = table.with_columns(pl.lit(np.nan).alias(name) for name in numbers)
    return table.with_columns(verdict=pl.lit("not tested"), reason=pl.lit("too few"))


def dose_tables():
    """The tables of two models; the second has no next token and one range of blocks less."""
    conditions, kl = curves(EFFECTS, {"first": 0.5, "removed": 1.0, "uniform": 2.0}, N_CHANGED, 0.1)
    middle = {steering("first", 0.1, "middle"): np.full(N_CHANGED, 9.0)}
    moved = {steering("first", 0.4): np.arange(N_CHANGED) < 3}
    rows = [
        intervened_rows(changed, kl, moved, layers, view=view, model=model)
        for model, changed in (("alpha", conditions | middle), ("beta", conditions))
        for view in ("all_tokens", "without_first", "after_quarter")
        for layers in ("all", "middle", "output")
    ]
    effects = effects_table(pl.concat(rows), Resampling(200, 0.95, 0), 2)
    doses = effects.select("model", "variant", "kind", "pattern", "blocks", "strength").unique()
    known = {(one.pattern, one.strength): values.mean() for one, values in kl.items()}
    of_model = doses.select("model", "pattern", "strength").rows()
    means = [known.get((pattern, strength)) if model == "alpha" else None for model, pattern, strength in of_model]
    doses = doses.with_columns(kl=pl.Series(means, dtype=pl.Float64))
    return {"interventions": effects, "doses": _with_all_columns(doses)}


FIRST, RANDOM, MASSIVE = (Condition("masked", key) for key in ("first", "random", "massive"))
CONSTANT = Condition("positions", "constant")
CHANGES = {FIRST: 0.2, RANDOM: 0.01, MASSIVE: -0.3, CONSTANT: 0.5}
MOVED = {FIRST: np.arange(N_CHANGED) < 4, MASSIVE: np.ones(N_CHANGED, dtype=bool)}


def conditions_tables():
    """Two models; in the first reviews, which change most, another token takes over the masked first token."""
    noise = np.linspace(0.05, -0.05, N_CHANGED)
    values = {condition: effect + noise for condition, effect in CHANGES.items()}
    views = ["all_tokens", "without_first"]
    rows = [
        intervened_rows(values, None, MOVED, layers, view=view, model=model)
        for model in BLOCKS
        for view in views
        for layers in ("all", "output")
    ]
    told = [
        {"model": model, "variant": "original", **condition._asdict(), "n_reviews": N_CHANGED, "kl": kl}
        | {"n_sink_moved": int(MOVED.get(condition, np.zeros(1)).sum())}
        for model, kl in (("alpha", 0.16), ("beta", None))
        for condition in CHANGES
    ]
    layers = [
        example_table(
            "intervened_layers.parquet",
            dict.fromkeys(BLOCKS, 2),
            **{"variant": "original", "view": views, "metric": COSINE} | condition._asdict(),
            mean=lambda row, effect=effect: effect * row["layer"],
        )
        for condition, effect in CHANGES.items()
    ]
    return {
        "interventions": effects_table(pl.concat(rows), Resampling(200, 0.95, 0), 2),
        "intervened_layers": pl.concat(layers),
        "doses": _with_all_columns(pl.DataFrame(told, infer_schema_length=None)),
    }


def _with_all_columns(doses):
    schema = DOSE_MEANS_SCHEMA
    return pl.concat([pl.DataFrame(schema=schema), doses], how="diagonal_relaxed").select(*schema)


READ = 30  # reviews that are read
HARMED = [  # kind, pattern, strength, placebo, reviews whose sink moved
    ("steering", "first", 0.1, False, 0),
    ("steering", "first", 0.4, False, 3),
    ("steering", "removed", 0.1, True, 0),
    ("steering", "removed", 0.4, True, 0),
    ("masked", "first", None, False, 0),
    ("masked", "random", None, True, 0),
]


def harm_table():
    """The second model predicts no next token."""
    columns = ("kind", "pattern", "strength", "placebo", "n_sink_moved")
    told = {"blocks": "all", "n_reviews": READ}
    outcomes = list(OUTCOMES_OF_HARM)
    return pl.concat(
        example_table(
            "harm.csv",
            **dict(zip(columns, condition, strict=True)) | told,
            **{
                name: lambda row, value=0.1 * (number + 1) * (-1) ** place, name=name: (
                    np.nan if (row["model"], name) == ("beta", "kl") else value
                )
                for place, name in enumerate(outcomes)
            },
        )
        for number, condition in enumerate(HARMED)
    )


def by_depth(file, quantities=(None,)):
    """Levels of two texts by depth, and a difference that is not drawn."""
    columns = {"quantity": list(quantities)} if quantities != (None,) else {}
    return example_table(
        file,
        dict.fromkeys(BLOCKS, 3),
        kind="untouched",
        blocks="all",
        strength=None,
        variant=["original", "front"],
        minus=[None, "original"],
        n_reviews=READ,
        estimate=lambda row: 0.2 + 0.1 * row["layer"] + len(row["variant"]) / 100 + (row["minus"] is not None),
        **columns,
    )


def losses_table():
    return example_table(
        "training.parquet",
        step=list(range(11)),
        loss=lambda row: None if row["step"] == 10 else 4 - 0.1 * row["step"],
        held_out_loss=lambda row: None if row["step"] % 5 else 4.02 - 0.1 * row["step"],
        n_training=1800,
        n_held_out=100,
    )
