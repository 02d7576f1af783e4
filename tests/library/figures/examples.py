"""What every figure is drawn of: tables with the columns of their schemas, and what the configuration says about it.

A figure without an example of its own is drawn of tables that their schemas alone describe.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from dosed import COSINE, curves, dial, intervened_rows, template
from drawings import VARIANTS, N, shown
from homogenization.consequences.schemas import OUTCOMES_OF_HARM
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.claims import COLUMNS
from homogenization.figures.first_token import METRICS as FIRST_TOKEN_METRICS
from homogenization.figures.shown import Shown, names_of
from homogenization.inference.doses import Condition
from homogenization.measures.position_cells import CAUSAL_CELLS, DICTIONARY
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.run.errors import HomogenizationError
from homogenization.statistics.causes import CAUSES
from homogenization.statistics.interventions import effects_table
from homogenization.tables.arms import arms_table
from homogenization.tables.catalogue import TABLES
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM

SCHEMAS = {  # by file in results/tables
    file.name: schema
    for tables in TABLES.values()
    for file, schema in zip(tables.files, import_module(f"homogenization.{tables.module}").SCHEMAS, strict=True)
}
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
    schema = SCHEMAS[file]
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


def positional_table(blocks=BLOCKS, variants=("original", "front")):
    """Of three heads, of which each is as positional as it is far from the first head of the first block."""
    return example_table(
        "positional.parquet",
        blocks,
        variant=list(variants),
        head=[1, 2, 3],
        **dict.fromkeys((f"weight_{name}" for name in DICTIONARY), 1 / len(DICTIONARY)),
        positional_mass=lambda row: row["depth"] * row["head"] / 3,
        total_mass=1.0,
        null_mass=0.01,
        ratio=lambda row: row["positional_mass"] / 2,
    )


def templates_table(blocks=BLOCKS, cells=CAUSAL_CELLS[:9]):
    """The attention of a cell is its block and its number over uniform attention."""
    return example_table(
        "templates.parquet",
        blocks,
        variant=["original", "front"],
        query_bin=[5, 6, 7],
        cell=list(cells),
        n_queries=lambda row: {5: 100, 6: 300, 7: 200}[row["query_bin"]],
        attention=lambda row: 0.01 * (row["block"] + cells.index(row["cell"])),
        uniform=0.01,
    )


def cosine_table(blocks=BLOCKS):
    edges = np.linspace(-1, 1, 41).round(2)

    @cache
    def density(layer):
        heights = np.exp(-(((edges[:-1] + edges[1:]) / 2 - 0.1 * layer) ** 2) * 20)
        return dict(zip(edges.tolist(), heights / heights.sum() / 0.05, strict=False))

    return example_table(
        "cosines.parquet",
        blocks,
        point=POINTS,
        tokens="all_tokens",
        bin_left=edges[:-1].tolist(),
        bin_right=lambda row: row["bin_left"] + 0.05,
        density=lambda row: density(row["layer"])[row["bin_left"]],
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
    ("front", "scattered"): {("displacement", None): 1.5, ("words", None): 0.0, ("tokens_per_word", "beta"): -0.3},
    ("front", "inward"): {("displacement", None): 0.25, ("words", None): np.inf, ("tokens_per_word", "beta"): 0.1},
    ("end", "scattered"): {("displacement", None): np.nan, ("words", None): -np.inf},
}
ROLES = {"scattered": "rewriting", "inward": None}


def balance_table(differences=DIFFERENCES):
    rows = [
        (variant, control, ROLES[control], model, covariate, 1.0, 1.0, smd, N, abs(smd) <= 0.25)
        for (variant, control), of_pair in differences.items()
        for (covariate, model), smd in of_pair.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["balance.csv"], orient="row")


PAIRS = [["front", "original"], ["end", "original"], ["scattered", "original"], ["front", "scattered"]]
CONTRASTED = "max_explainable_variance"


OF_DEPTH = 0.5  # what depth does to the metric


def difference(variant, minus, depth):
    return 0.1 * (len(variant) - len(minus)) * (0.5 + depth) - 0.05


def contrasts_table(blocks=DEEPER, pairs=PAIRS, metric=CONTRASTED, views=("raw", "raw_without_first")):
    """A difference is significant in each second layer, and at equal length half as large."""
    return example_table(
        "contrasts.parquet",
        blocks,
        variant=list(dict.fromkeys(variant for variant, _ in pairs)),
        minus=lambda row: [minus for variant, minus in pairs if variant == row["variant"]],
        point=POINTS,
        view=list(views),
        metric=metric,
        verdict=lambda row: "higher" if row["layer"] % 2 else "undecided",
        mean=lambda row: difference(row["variant"], row["minus"], row["depth"]),
        ci_low=lambda row: row["mean"] - 0.02,
        ci_high=lambda row: row["mean"] + 0.03,
        mean_common=lambda row: row["mean"] / 2,
        n_common=31,
        depth_range=OF_DEPTH,
        review_sd=OF_DEPTH / 2,
    )


SCATTERED = (  # metric and view of what is drawn and of what is not
    ("first_token_energy_share", "all_tokens"),
    ("max_explainable_variance", "raw"),
    ("max_explainable_variance", "raw_without_first"),
    ("max_explainable_variance", "unit"),
    ("effective_rank", "raw"),
)


def metrics_table(blocks=DEEPER, n=N):
    """Random values of reviews, of which the first two keep the bound; the same after the final norm."""

    @cache
    def values(model, layer):
        uniform = np.random.default_rng([len(model), layer]).uniform(size=(len(SCATTERED), n))
        uniform[1] = uniform[0] + (1 - uniform[0]) * uniform[1]
        return dict(zip(SCATTERED, uniform, strict=True))

    metrics = list(dict.fromkeys(metric for metric, _ in SCATTERED))
    return example_table(
        "metrics.parquet",
        blocks,
        variant="original",
        number=list(range(n)),
        review_id=lambda row: f"{row['number']:012x}",
        point=POINTS,
        metric=metrics,
        view=lambda row: [view for metric, view in SCATTERED if metric == row["metric"]],
        value=lambda row: values(row["model"], row["layer"])[row["metric"], row["view"]][row["number"]],
    )


def correlations_table(blocks=DEEPER, bound_holds=1.0):
    def pearson(row):
        of_predictor = {"first_token_norm": 0.11, "first_token_energy_share": -0.625}[row["predictor"]]
        return of_predictor if row["scope"] == "reviews_and_layers" else 0.22

    return example_table(
        "first_token.parquet",
        blocks,
        variant="original",
        predictor=["first_token_norm", "first_token_energy_share"],
        scope=["reviews_and_layers", "layers", "reviews"],
        pearson=pearson,
        pearson_low=lambda row: row["pearson"] - 0.05,
        pearson_high=lambda row: row["pearson"] + 0.015,
        bound_holds=lambda row: bound_holds if row["view"] == "raw" else np.nan,
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
    """Of two models; blocks are taken apart in the first alone, which has a settled peak and a trough that is not."""
    extrema = [
        {"view": "raw", "metric": MEV, "model": "alpha", "variant": "original", "number": 1, "kind": kind}
        | {"layer": layer, "depth": depth, "depth_low": low, "depth_high": high, "settled": settled}
        | {"height": height, "height_low": height - 0.1, "height_high": height + 0.2}
        for kind, layer, depth, low, high, height, settled in (
            ("peak", 2, 1 / 3, 1 / 6, 0.5, 2.4, True),
            ("trough", 4, 2 / 3, 0.6, 0.7, 2.7, False),
        )
    ]

    def blocks(model, quantity, mean, **columns):
        columns = dict.fromkeys(("metric", "view", "in_stream")) | columns
        layers = list(range(1, BLOCKS[model] + 1))
        return example_table(
            "extrema_blocks.parquet",
            model=model,
            variant="original",
            layer=layers,
            quantity=quantity,
            mean=mean,
            **columns,
        )

    of_mev = {"metric": MEV, "view": "raw"}
    return {
        "summary": summary_table(MEV),
        "extrema": pl.DataFrame(extrema, schema=SCHEMAS["extrema.parquet"]),
        "extrema_blocks": pl.concat(
            [
                blocks("alpha", "feed_forward_addition", 0.3, in_stream=True, **of_mev),
                blocks("alpha", "feed_forward", 9.0, in_stream=False, **of_mev),
                blocks("alpha", "first_token_energy_share", 0.5),
                blocks("beta", "first_token_energy_share", 0.2),
            ]
        ),
    }


N_CHANGED = 12  # reviews with changed attention
EFFECTS = {"first": 0.4, "removed": -0.2, "uniform": 0.1}


def not_tested(table):
    """`table` of effects or slopes as it is made of too few reviews."""
    numbers = ("estimate", "ci_low", "ci_high", "share_of_depth", "p_value", "q_value")
    return table.with_columns(pl.lit(np.nan).alias(name) for name in numbers).with_columns(reason=pl.lit("too few"))


def dose_tables():
    """The tables of two models; the second has no next token, one range of blocks less and no template."""
    conditions, kl = curves(EFFECTS, {"first": 0.5, "removed": 1.0, "uniform": 2.0}, N_CHANGED, 0.1)
    middle = {dial("first", 0.1, "middle"): np.full(N_CHANGED, 9.0)}
    names = ("template", "permuted_template")
    signed = {template(strength, name): np.full(N_CHANGED, strength) for strength in (-0.5, 0.5) for name in names}
    moved = {dial("first", 0.4): np.arange(N_CHANGED) < 3}
    rows = [
        intervened_rows(changed, kl, moved, layers, view=view, model=model)
        for model, changed in (("alpha", conditions | middle | signed), ("beta", conditions))
        for view in ("all_tokens", "without_first", "after_quarter")
        for layers in ("all", "middle", "output")
    ]
    effects = effects_table(pl.concat(rows), 200, 0.95, 0, 2)
    doses = effects.select("model", "variant", "kind", "pattern", "blocks", "strength").unique()
    known = {(one.pattern, one.strength): values.mean() for one, values in kl.items()}
    of_model = doses.select("model", "pattern", "strength").rows()
    means = [known.get((pattern, strength)) if model == "alpha" else None for model, pattern, strength in of_model]
    doses = doses.with_columns(kl=pl.Series(means, dtype=pl.Float64))
    return {"interventions": effects, "doses": _with_all_columns(doses)}


FIRST, RANDOM, MASSIVE = (Condition("closed", key) for key in ("first", "random", "massive"))
DROPPED, CONSTANT = Condition("capped", "nobody", "all", 0.1), Condition("positions", "constant")
CHANGES = {FIRST: 0.2, RANDOM: 0.01, MASSIVE: -0.3, DROPPED: -0.1, CONSTANT: 0.5}
MOVED = {FIRST: np.arange(N_CHANGED) < 4, MASSIVE: np.ones(N_CHANGED, dtype=bool)}


def conditions_tables():
    """Two models; in the first reviews, which change most, another token takes over the closed first token."""
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
        {"model": model, "variant": "original", **condition._asdict(), "n_reviews": N_CHANGED, "n_skipped": 0, "kl": kl}
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
        "interventions": effects_table(pl.concat(rows), 200, 0.95, 0, 2),
        "intervened_layers": pl.concat(layers),
        "doses": _with_all_columns(pl.DataFrame(told, infer_schema_length=None)),
    }


def _with_all_columns(doses):
    schema = SCHEMAS["doses.csv"]
    return pl.concat([pl.DataFrame(schema=schema), doses], how="diagonal_relaxed").select(*schema)


SLOPES = {"first": 0.2, "removed": -0.1}
SLOPED = {"alpha": 30, "beta": 4}


def slope(pattern, block):
    return SLOPES[pattern] / block


def slopes_table(blocks=SLOPED):
    """The sum over all blocks, too, which is not drawn."""
    views = {"cosine_anisotropy": ["all_tokens", "after_quarter"], "stable_rank": ["centred"]}
    of_blocks = example_table(
        "slopes.parquet",
        blocks,
        variant="original",
        pattern=list(SLOPES),
        against=["untouched", "removed"],
        layer=lambda row: blocks[row["model"]],
        metric=list(views),
        view=lambda row: views[row["metric"]],
        estimate=lambda row: slope(row["pattern"], row["block"]) + (row["against"] != "untouched"),
        ci_low=lambda row: slope(row["pattern"], row["block"]) - 0.05,
        ci_high=lambda row: slope(row["pattern"], row["block"]) + 0.05,
        n_reviews=9,
    )
    whole = of_blocks.head(1).with_columns(block=pl.lit(None, pl.Int32), estimate=99.0)
    return pl.concat([of_blocks, whole])


READ = 30  # reviews that are read
HARMED = [  # kind, pattern, strength, placebo, reviews whose sink moved
    ("dial", "first", 0.1, False, 0),
    ("dial", "first", 0.4, False, 3),
    ("dial", "removed", 0.1, True, 0),
    ("dial", "removed", 0.4, True, 0),
    ("closed", "first", None, False, 0),
    ("closed", "random", None, True, 0),
]


def harm_table():
    """The second model predicts no next token."""
    columns = ("kind", "pattern", "strength", "placebo", "n_sink_moved")
    told = {"blocks": "all", "perturbation": "typo", "n_reviews": READ}
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
        variant=["original", "front", "typo"],
        minus=[None, "original"],
        n_reviews=READ,
        estimate=lambda row: 0.2 + 0.1 * row["layer"] + len(row["variant"]) / 100 + (row["minus"] is not None),
        **columns,
    )


ARMS = [["diverse", "Diverse"], ["tuned", "Tuned"]]
SEEDS, STEPS, LAYERS = (0, 1, 2), (0, 10), 5


def losses_table():
    return example_table(
        "training.parquet",
        arm=names_of(ARMS),
        seed=list(SEEDS),
        step=list(range(11)),
        loss=lambda row: None if row["step"] == 10 else 4 - 0.1 * row["step"] + 0.01 * row["seed"],
        held_out_loss=lambda row: (
            None if row["step"] % 5 else 4 - 0.1 * row["step"] + 0.02 * row["seed"] * (row["step"] == 10)
        ),
        unigram=5.0,
        bigram=3.3,
        n_training=1800,
        n_held_out=100,
    )


def trained_value(arm, seed, step, layer):
    return 0.1 * layer + 0.02 * step * (arm == "tuned") + 0.01 * seed


def over_seeds():
    models = {f"{arm}-{seed}-step{step}": (arm, seed, step) for arm, _ in ARMS for seed in SEEDS for step in STEPS}
    losses = [
        {"arm": arm, "seed": seed, "step": step, "held_out_loss": 4 - 0.1 * step - 0.2 * (step > 0) * (arm == "tuned")}
        for arm, seed, step in models.values()
    ]
    summary = example_table(
        "summary.parquet",
        dict.fromkeys(models, LAYERS - 1),
        variant="original",
        metric="cosine_anisotropy",
        view=["all_tokens", "without_first"],
        mean=lambda row: trained_value(*models[row["model"]], row["layer"]),
    )
    told = [[model, *about] for model, about in models.items()]
    return arms_table(summary, told, [["diverse", "tuned"]], pl.DataFrame(losses))


TOKENS = {None: 30, "the": 20, " ": 10, "$5": 8, **{f"word{index}": 2 for index in range(12)}}


def sinks_table():
    """In the second variant, each token is a sink in one review more."""
    return example_table(
        "sinks.parquet",
        model="alpha",
        variant=["original", "front"],
        kind="attention",
        token=list(TOKENS),
        n_reviews=lambda row: TOKENS[row["token"]] + (row["variant"] == "front"),
        position=12.0,
        first_block=3.0,
        last_block=9.0,
    )


TITLES = {name: metric.title for name, metric in (SPECTRAL_METRICS | GEOMETRY_METRICS).items()}
SPECIAL = {  # what stands apart among responses of .1
    ("max_explainable_variance", "raw"): {"cone": 0.834, "compression": 0.499},
    ("schatten_inf", "raw"): {"massive_first_token": -56.4},
    ("stable_rank", "unit"): {"antipodal_pairs": 0.5, "cone": -0.7, "matrix_shape": -0.001},
    # a collapse does not move it
    ("cosine_modes", "all_tokens"): dict.fromkeys(CAUSES, np.nan) | {"answers_to": "antipodal_pairs"},
}


def responses():
    """Every metric and view in the order of the registries."""
    views = dict.fromkeys(SPECTRAL_METRICS, VIEWS) | {name: metric.views for name, metric in GEOMETRY_METRICS.items()}
    usual = dict.fromkeys(CAUSES, 0.1) | {"collapse": 1.0, "answers_to": "collapse", "confuses": ""}
    rows = [
        {"metric": metric, "view": view} | usual | SPECIAL.get((metric, view), {})
        for metric, of_metric in views.items()
        for view in of_metric
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["sensitivity.csv"])


FINDINGS = ["supported", "contradicted", "undecided", "not tested", "negligible"]
COMPARISONS = pl.DataFrame({"variant": ["front", "end"], "minus": ["original"] * 2, "imbalance": [None, "length"]})


def claims_table(models=("alpha", "beta"), n_claims=10, **changes):
    rows = []
    for index in range(n_claims):
        statement = "Something long enough to take more than one line of the board holds. " * (1 + index % 3)
        for place, model in enumerate([None] if index == 4 else models):
            verdict = FINDINGS[(index + place) % 5]
            estimate = float("nan") if verdict == "not tested" else -0.01234 * 10.0 ** (-index)
            reason = "the study has no metric first_token_attention_share " * index if verdict == "not tested" else None
            rows.append(
                {
                    "claim": f"claim-{index}", "statement": statement.strip(),
                    "source": "paper", "convention": "raw", "model": model,
                    "statistic": "similarity" if index == 4 else "contrast",
                    "variant": "front", "minus": "original", "verdict": verdict, "measured": "mean difference",
                    "criterion": "< 0", "unit": "reviews", "published": None, "reason": reason,
                    "depends_on_length": False, "fragile": False, "q_decides": False, "estimate": estimate,
                    "ci_low": estimate * 1.5, "ci_high": float("nan") if index == 5 else estimate / 2,
                    "depth_range": float("nan"), "share_of_depth": float("nan"),
                    "without_first": float("nan"), "q_value": 0.123, "n_reviews": N,
                }
            )  # fmt: skip
            if model == "alpha" and index == 0:
                rows[-1] |= changes
    return pl.DataFrame(rows, schema=COLUMNS["claims"])


class Example(NamedTuple):
    """What a figure is drawn of.

    Attributes:
        tables: makes its tables by name, or its only one.
        shown: fields of what the configuration says.
        size: what the figure says about its sample.
        refusal: what the message says where the first table is empty; None for a figure that is drawn nevertheless.
        labelled: whether axes have labels in both directions.
    """

    tables: Callable[[], pl.DataFrame | dict[str, pl.DataFrame]]
    shown: Mapping[str, Any] = {}
    size: str = f"n = {N} reviews"
    refusal: str | None = "no rows"
    labelled: bool = True


_VIEWS = ["raw", "raw_without_first"]
_CHANGED = {"metric": COSINE, "label": "cosine", "homogenization": 1}
_TRAINED = {"arms": ARMS, "arm_pairs": [["diverse", "tuned", "Diverse minus Tuned"]], "metric": "cosine_anisotropy"}
_OF_CHANGED = f"n = {N_CHANGED - 3} to {N_CHANGED} reviews"
EXAMPLES = {
    "metric": Example(summary_table, {"metric": "effective_rank", "label": "Effective rank", "views": _VIEWS}),
    "mauve": Example(mauve_table, size="6 values a point", refusal="MAUVE between consecutive layers"),
    "cosine_histogram": Example(cosine_table, refusal="cosines between tokens"),
    "first_token": Example(first_token_table, refusal="first_token_norm"),
    "attention_profile": Example(attention_table, refusal="attention received"),
    "attention_heatmap": Example(attention_table, refusal="attention received"),
    "similarity": Example(
        similarity_table,
        {"rewritten": VARIANTS[1:], "threshold": 0.85},
        f"{N} rewritten reviews accepted",
        "variants front, end, scattered",
    ),
    "placement": Example(placement_table, {}, "41 key phrases in 10 reviews", "variants original, front, end"),
    "balance": Example(balance_table, {"variants": NAMED, "max_imbalance": 0.25}, refusal="variants original, front"),
    "contrast": Example(
        contrasts_table,
        {
            "metric": CONTRASTED,
            "label": "variance",
            "view": "raw",
            "contrasts": PAIRS,
            "homogenization": 1,
            "margin": 0.02,
        },
        refusal=CONTRASTED,
    ),
    "first_token_scatter": Example(
        lambda: {"metrics": metrics_table(), "first_token": correlations_table()}, refusal="first_token_energy_share"
    ),
    "components": Example(components_table, size="n = 6 reviews, Original", refusal=None, labelled=False),
    "extrema": Example(
        extrema_tables, {"metric_titles": {MEV: "Maximum explainable variance"}}, refusal="no rows for models"
    ),
    "dose_response": Example(dose_tables, _CHANGED, _OF_CHANGED, "no rows for metric", labelled=False),
    "conditions": Example(conditions_tables, _CHANGED, f"n = {N_CHANGED} reviews", None, labelled=False),
    "susceptibility": Example(
        slopes_table,
        {"metric_titles": {"cosine_anisotropy": "Cosine anisotropy"}},
        "n = 9 reviews",
        "no rows for models",
    ),
    "harm": Example(harm_table, size=f"n = {READ} reviews", refusal="models alpha, beta"),
    "probes": Example(
        lambda: by_depth("probes.parquet", ("log_loss", "accuracy", "null_log_loss", "null_accuracy")),
        size=f"n = {READ} reviews",
        refusal="no rows for probes",
    ),
    "shifts": Example(lambda: by_depth("shifts.parquet"), size=f"n = {READ} reviews", refusal="no rows for texts"),
    "training": Example(losses_table, _TRAINED, "3 seeds; 1,800 texts to train on, 100 held out", "arms"),
    "arms": Example(
        over_seeds, _TRAINED | {"views": ["all_tokens"], "label": "cosine"}, "3 seeds", "metric 'cosine_anisotropy'"
    ),
    "positional_heads": Example(positional_table, refusal="positional attention"),
    "positional_templates": Example(
        lambda: {"templates": templates_table(), "positional": positional_table(), "attention": attention_table()},
        refusal="templates of attention",
    ),
    "sinks": Example(sinks_table, refusal=None, labelled=False),
    "sensitivity": Example(
        responses,
        {"metric_titles": TITLES},
        "Bold: at least 0.5",
        "with a row for each metric and view",
        labelled=False,
    ),
    "claims": Example(
        lambda: {"claims": claims_table(), "comparisons": COMPARISONS},
        {"claims_of": "paper"},
        refusal="claims of 'paper'",
        labelled=False,
    ),
}


def example(name: str) -> Example:
    """What the figure `name` is drawn of; where nothing else is known, tables that their schemas alone describe."""

    def of_schemas():
        return {file.partition(".")[0]: example_table(file) for file in FIGURES[name].tables}

    return EXAMPLES.get(name) or Example(of_schemas, {"metric": "effective_rank", "label": "L", "views": _VIEWS})


@cache
def tables_of(name: str) -> dict[str, pl.DataFrame]:
    """The tables of the figure `name`, the one that messages name first."""
    made = example(name).tables()
    return made if isinstance(made, dict) else {FIGURES[name].tables[0].partition(".")[0]: made}


def shown_of(name: str, **fields: Any) -> Shown:
    """What the configuration says about the figure `name`, with other `fields`."""
    return shown(**example(name).shown | fields)


def figure_of(name: str, tables: Mapping[str, pl.DataFrame] | None = None, **fields: Any) -> Figure:
    """The figure `name` of its example, with other `tables` and other `fields` of what is shown."""
    draw = import_module(f"homogenization.figures.{name}").draw
    return draw(tables_of(name) | (tables or {}), shown_of(name, **fields))


@cache
def drawn(name: str) -> Figure:
    """The figure `name` of its example; tests look at it and do not change it."""
    return figure_of(name)


def require_refusal(name: str, said: str, tables: Mapping[str, pl.DataFrame] | None = None, **fields: Any) -> None:
    """Nothing is drawn of such tables; the message says `said` and names the file."""
    with pytest.raises(HomogenizationError, match=said) as refused:
        figure_of(name, tables, **fields)
    assert shown_of(name, **fields).source in str(refused.value)
