"""What figures are drawn of: small tables of a causal model alpha and an encoder beta, with numbers to tell."""

from functools import cache, reduce
from importlib import import_module
from math import inf
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from homogenization.figures.catalogue import FIGURES
from homogenization.figures.grammar import Shown
from homogenization.figures.style import house_style

MODELS = {"alpha": "Alpha (causal)", "beta": "Beta (encoder)"}
VARIANTS = {name: name.title() for name in ("original", "front", "inward", "blocks-4", "words")}
LOSSES = {"front": 0.6, "inward": 0.8, "blocks-4": 0.3, "words": 3.0}  # change of alpha's loss per word
SHOWN = {
    "models": MODELS,
    "variants": VARIANTS,
    "ladder": ["blocks-4", "words"],
    "pairs": [*((name, "original") for name in LOSSES), ("front", "inward")],
    "margin": 0.02,
    "threshold": 0.9,
    "min_reviews": 4,
    "title": "The title",
}
COSINE, RANK = ("cosine_anisotropy", "without_first"), ("normalized_effective_rank", "raw_without_first")
OF_ITS_OWN = {
    "metric": {"metric": "cosine_anisotropy"},
    "contrast": {"metric": "cosine_anisotropy", "view": "without_first"},
}
CELLS = [
    *(COSINE, RANK, ("cosine_anisotropy", "all_tokens"), ("normalized_effective_rank", "raw")),
    *(("max_explainable_variance", view) for view in ("raw", "raw_without_first")),
    *((f"first_token_{name}", "all_tokens") for name in ("norm", "attention_share", "attention_excess")),
    *((name, "all_tokens") for name in ("other_token_norm", "cosine_to_first_token")),
]
LAYERS, N = range(5), 8
CHANGES = {"alpha": 0.07, "beta": -0.02}  # a nat of disorder, at the output
_ORIGINAL, _ALL, _MORE, _RESIDUAL = map(pl.lit, ("original", "all", "more alike", "residual_stream"))


def change(model: str, variant: str, depth: float) -> float:
    """The change of a metric from the original: that of disorder of its size, of the other sign in the encoder."""
    return CHANGES[model] * LOSSES[variant] * depth


def _crossed(*parts: Any) -> pl.DataFrame:
    """Every combination of the rows of tables, or of columns by name."""
    return reduce(lambda one, other: one.join(other, how="cross"), map(pl.DataFrame, parts))


def _measured(table: pl.DataFrame, mean: Any) -> pl.DataFrame:
    """A table with estimates of these means."""
    table = table.with_columns(n_reviews=pl.lit(N), mean=mean)
    return table.with_columns(ci_low=pl.col("mean") - 0.01, ci_high=pl.col("mean") + 0.01)


_MODELS, _REVIEWS = {"model": list(MODELS)}, {"review_id": [str(number) for number in range(N)]}
_AT_LAYERS = {"layer": LAYERS, "depth": [layer / 4 for layer in LAYERS]}
_AT_BLOCKS = {name: of[1:] for name, of in _AT_LAYERS.items()}
_METRIC_AND_VIEW = ["metric", "view"]


def _summary() -> pl.DataFrame:
    places = {"point": ["residual_stream"] * 5 + ["final_norm"], "layer": [*LAYERS, 4]}
    cells = pl.DataFrame(CELLS, _METRIC_AND_VIEW, orient="row")
    table = _crossed(_MODELS, {"variant": list(VARIANTS)}, cells, places)
    return _measured(table.with_columns(depth=pl.col("layer") / 4), 0.2 + pl.col("layer") / 8)


def _contrasts() -> pl.DataFrame:
    pairs = [*SHOWN["pairs"], ("front", "disorder"), ("inward", "disorder")]
    pairs = pl.DataFrame(pairs, ["variant", "minus"], orient="row").with_columns(
        yardstick=0.5, verdict=_MORE, reason=None
    )
    loss = pl.col("variant").replace_strict(LOSSES)
    places = {"layers": [None] * 5 + ["all"], "layer": [*LAYERS, None], "depth": [*_AT_LAYERS["depth"], None]}
    cells = pl.DataFrame([COSINE, RANK], _METRIC_AND_VIEW, orient="row").with_columns(point=_RESIDUAL)
    rows = _crossed(_MODELS, pairs, cells, places)
    part = pl.when(minus="original").then(1.0).otherwise(0.1)
    of_model = pl.col("model").replace_strict(CHANGES)
    states = _measured(rows, of_model * loss * part * pl.col("depth").fill_null(0.5))
    predicted = {"metric": ["loss_per_word"], "view": "predictions", "point": "predictions"}
    losses = _crossed(_MODELS, pairs.filter(minus="original"), predicted)
    losses = _measured(losses, pl.when(model="alpha").then(loss).otherwise(float("nan")))
    whole = pl.concat([states, losses], how="diagonal").with_columns(group=pl.lit(None, pl.String))
    # a part of the reviews
    return pl.concat([whole, whole.with_columns(group=pl.lit("news"), mean=pl.col("mean") + 9)])


def _attention() -> pl.DataFrame:
    received = 2.0 ** np.arange(-3, 3)
    of_bins = {"bin": range(6), "relative_position": (np.arange(6) + 0.5) / 6, "received": received, "uniform": 1.0}
    of_bins |= {"ci_low": received - 0.01, "ci_high": received + 0.01, "n_reviews": N}
    return _crossed({"model": ["alpha"]}, {"variant": ["original", "front"]}, _AT_BLOCKS, of_bins)


def _similarity() -> pl.DataFrame:
    """With a key phrase in the middle of its sentence, which `front` moves to its beginning."""
    phrase = {"phrase": "p", "sentence": 0, "original_position": 0.5, "position": 0.0}
    placements = pl.when(variant="front").then([phrase]).otherwise([])
    table = _crossed({"variant": [*LOSSES, "random_pairs"], "accepted": [True] * 3 + [False] * 2}, _REVIEWS)
    return table.with_columns(f1=0.9 + pl.col("review_id").cast(float) / 100, placements=placements)


def _components() -> pl.DataFrame:
    views = {"view": ["all_tokens", "without_first"], "more": [1.0, 0.0]}
    table = _crossed(_MODELS, views, {"component": ["norm_1", "attention"]}, _REVIEWS, _AT_BLOCKS)
    change = pl.col("layer") / 10 + pl.col("review_id").cast(float) / 100 + pl.col("more")
    return table.with_columns(variant=_ORIGINAL, metric=pl.lit("cosine_anisotropy"), change=change)


_CONDITIONS = [  # kind, pattern, strength, KL
    *(("steering", pattern, strength, strength**2) for pattern in ("first", "removed") for strength in (0.1, 0.4)),
    ("masked", "first", None, 0.2),
    ("masked", "random", None, 0.1),
]


def _of_conditions(*cells: tuple[str, str, float]) -> pl.DataFrame:
    conditions = pl.DataFrame(_CONDITIONS, ["kind", "pattern", "strength", "kl"], orient="row")
    table = _crossed(_MODELS, conditions, pl.DataFrame(cells, [*_METRIC_AND_VIEW, "size"], orient="row"))
    table = table.with_columns(variant=_ORIGINAL, blocks=_ALL, minus=pl.lit("untouched"), layers=_ALL)
    table = table.with_columns(kl=pl.when(model="alpha").then("kl"))
    return _measured(table, pl.col("size") * pl.col("strength").fill_null(1))


def _few() -> dict[str, pl.DataFrame]:
    """Tables of which a figure shows every row as it stands."""
    own = {"model": "alpha", "variant": "original"}
    extrema = own | {"metric": "max_explainable_variance", "view": "raw", "kind": ["peak", "trough"]}
    probes = {"variant": ["original", "original", "front"], "quantity": ["log_loss", "null_log_loss", "log_loss"]}
    probes = _crossed({"model": ["alpha"], "kind": "untouched"}, probes, _AT_LAYERS)
    balance = {"variant": "front", "control": "inward", "role": "edge", "n_reviews": N, "model": [None, *MODELS]}
    mauve = {"kind": ["consecutive", "null"], "mean": [0.6, 0.9], "low": 0.1, "high": 1.0, "n_values": 6}
    training = {"model": "alpha", "step": range(3), "loss": [3.0, 2.5, 2.0], "held_out_loss": [3.0, None, 2.5]}
    return {
        "extrema": pl.DataFrame(extrema | {"depth": [0.5, 0.75], "height": 0.4}),
        "probes": _measured(probes, pl.lit(0.5)),
        "balance": pl.DataFrame(balance | {"covariate": ["displacement", *["tokens"] * 2], "smd": [0.1, 0.6, inf]}),
        "mauve": _crossed(_MODELS, mauve | {"variant": "original"}, {"depth": _AT_BLOCKS["depth"]}),
        "training": pl.DataFrame(training | {"n_training": 1800, "n_held_out": 100}),
    }


@cache
def made_tables() -> dict[str, pl.DataFrame]:
    """Every table that figures read, by name."""
    effects = _of_conditions((*COSINE, 0.5), (RANK[0], "without_first", -0.5))
    condition = ("model", "variant", "kind", "pattern", "blocks", "strength")
    return _few() | {
        "summary": _summary(),
        "contrasts": _contrasts(),
        "attention": _attention(),
        "similarity": _similarity(),
        "components": _components(),
        "interventions": effects.drop("kl"),
        "doses": effects.filter(metric="cosine_anisotropy").select(
            *condition, "kl", pl.col("n_reviews").cast(pl.Int64)
        ),
        "consequences": _of_conditions(("probe_log_loss", "pooled", 0.05), ("kl", "predictions", 0.1)).drop("kl"),
    }


def figure_of(name: str, style: str = "report", **other: Any) -> Figure:
    """The figure `name` of the made tables; `other` tables by name, and other fields of what is shown."""
    module = import_module(f"homogenization.figures.{FIGURES[name].function.partition('.')[0]}")
    tables = made_tables() | {key: table for key, table in other.items() if key in made_tables()}
    fields = {key: value for key, value in other.items() if key not in made_tables()}
    with house_style(style):
        return getattr(module, name)(tables, Shown(**SHOWN | OF_ITS_OWN.get(name, {}) | fields))


@cache
def drawn(name: str) -> Figure:
    """The figure `name` of the made tables; tests look at it and do not change it."""
    return figure_of(name)


def line(axes: Axes, label: str) -> Line2D:
    """The first line of a panel with this label."""
    return next(one for one in axes.lines if one.get_label() == label)


def dots(axes: Axes, label: str) -> dict[int, tuple[float, bool]]:
    """By lane, the value of the dot with this label and whether it is filled."""
    found = [one for one in axes.lines if one.get_label() == label]
    return {round(one.get_ydata()[0]): (one.get_xdata()[0], one.get_markerfacecolor() != "white") for one in found}


def written(figure: Figure) -> list[str]:
    """All that is written in a figure."""
    return [" ".join(text.get_text().split()) for text in figure.findobj(Text) if text.get_text()]
