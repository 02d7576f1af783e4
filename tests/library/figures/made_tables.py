"""What figures are drawn of: small tables of a causal model alpha and an encoder beta, with numbers to tell."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

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
    *product(("max_explainable_variance",), ("raw", "raw_without_first")),
    *product(("first_token_norm", "other_token_norm", "cosine_to_first_token"), ("all_tokens",)),
    *product(("first_token_attention_share", "first_token_attention_excess"), ("all_tokens",)),
]
BLOCKS, N = (1, 2, 3, 4), 8
LAYERS = (0, *BLOCKS)


def change(model: str, variant: str, depth: float) -> float:
    """The change of a metric from the original: that of disorder of its size, of the other sign in the encoder."""
    return {"alpha": 0.07, "beta": -0.02}[model] * LOSSES[variant] * depth


def _numbers(mean: float) -> dict[str, Any]:
    return {"n_reviews": N, "mean": mean, "ci_low": mean - 0.01, "ci_high": mean + 0.01}


def _table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _summary() -> pl.DataFrame:
    places = [("residual_stream", layer) for layer in LAYERS] + [("final_norm", 4)]
    return _table(
        {"model": model, "variant": variant, "metric": metric, "view": view, "point": point, "layer": layer}
        | {"depth": layer / 4, **_numbers(0.2 + layer / 8)}
        for model, variant, (metric, view), (point, layer) in product(MODELS, VARIANTS, CELLS, places)
    )


def _contrasts() -> pl.DataFrame:
    rows = []
    pairs = [*SHOWN["pairs"], ("front", "disorder"), ("inward", "disorder")]
    places = [*((None, layer, layer / 4) for layer in LAYERS), ("all", None, 0.5)]
    for model, (variant, minus) in product(MODELS, pairs):
        pair = {"model": model, "variant": variant, "minus": minus, "yardstick": 0.5, "verdict": "more alike"}
        part = 1.0 if minus == "original" else 0.1
        for (metric, view), (layers, layer, depth) in product((COSINE, RANK), places):
            cell = {"metric": metric, "view": view, "point": "residual_stream", "layers": layers, "layer": layer}
            numbers = _numbers(part * change(model, variant, depth))
            rows.append(pair | cell | {"depth": None if layers else depth, "reason": None} | numbers)
        if minus == "original":
            numbers = _numbers(LOSSES[variant] if model == "alpha" else float("nan"))
            rows.append(pair | {"metric": "loss_per_word", **dict.fromkeys(("view", "point"), "predictions")} | numbers)
    whole = _table(rows).with_columns(group=pl.lit(None, pl.String))
    # a part of the reviews
    return pl.concat([whole, whole.with_columns(group=pl.lit("news"), mean=pl.col("mean") + 9)])


def _mauve() -> pl.DataFrame:
    return _table(
        {"model": model, "variant": "original", "kind": kind, "depth": block / 4, "mean": mean}
        | {"low": 0.1, "high": 1.0, "n_values": 6}
        for model, (kind, mean), block in product(MODELS, (("consecutive", 0.6), ("null", 0.9)), BLOCKS)
    )


def _extrema() -> pl.DataFrame:
    cell = {"model": "alpha", "variant": "original", "metric": "max_explainable_variance", "view": "raw"}
    return _table(cell | {"kind": kind, "depth": at, "height": 0.4} for kind, at in (("peak", 0.5), ("trough", 0.75)))


def _attention() -> pl.DataFrame:
    return _table(
        {"model": "alpha", "variant": variant, "layer": block, "depth": block / 4, "bin": place, "n_reviews": N}
        | {"relative_position": (place + 0.5) / 6, "received": 2.0 ** (place - 3), "uniform": 1.0}
        | {"ci_low": 2.0 ** (place - 3) - 0.01, "ci_high": 2.0 ** (place - 3) + 0.01}
        for variant, block, place in product(("original", "front"), BLOCKS, range(6))
    )


def _similarity() -> pl.DataFrame:
    """With key phrases at every tenth of their sentences, which `front` moves to 0 and `inward` to .5."""
    moved = {"front": 0.0, "inward": 0.5}
    phrases = {
        name: [{"phrase": "p", "sentence": 0, "original_position": place / 10, "position": to} for place in range(11)]
        for name, to in moved.items()
    }
    return _table(
        {"variant": name, "review_id": str(review), "f1": 0.97 - rank / 100 + review / 1000, "accepted": rank < 3}
        | {"placements": phrases.get(name, [])}
        for (rank, name), review in product(enumerate([*LOSSES, "random_pairs"]), range(N))
    )


def _balance() -> pl.DataFrame:
    rows = [("displacement", None, 0.1), ("tokens", "alpha", 0.6), ("tokens", "beta", float("inf"))]
    pair = {"variant": "front", "control": "inward", "role": "edge", "n_reviews": N}
    return _table(pair | {"covariate": name, "model": model, "smd": smd} for name, model, smd in rows)


def _components() -> pl.DataFrame:
    views = {"all_tokens": 1.0, "without_first": 0.0}
    return _table(
        {"model": model, "variant": "original", "metric": "cosine_anisotropy", "view": view, "component": component}
        | {"review_id": str(review), "layer": block, "depth": block / 4, "change": block / 10 + review / 100 + more}
        for model, (view, more), component, review, block in product(
            MODELS, views.items(), ("norm_1", "attention"), range(N), BLOCKS
        )
    )


_CONDITIONS = [  # kind, pattern, strength, KL
    *(("steering", pattern, strength, strength**2) for pattern in ("first", "removed") for strength in (0.1, 0.4)),
    ("masked", "first", None, 0.2),
    ("masked", "random", None, 0.1),
]


def _of_conditions(*cells: tuple[str, str, float]) -> pl.DataFrame:
    return _table(
        {"model": model, "variant": "original", "kind": kind, "pattern": pattern, "blocks": "all", "strength": strength}
        | {
            "minus": "untouched",
            "layers": "all",
            "metric": metric,
            "view": view,
            "kl": kl if model == "alpha" else None,
        }
        | _numbers(mean * (strength or 1))
        for model, (kind, pattern, strength, kl), (metric, view, mean) in product(MODELS, _CONDITIONS, cells)
    )


def _probes() -> pl.DataFrame:
    lines = [("original", "log_loss"), ("original", "null_log_loss"), ("front", "log_loss"), ("front", "accuracy")]
    return _table(
        {"model": "alpha", "variant": variant, "kind": "untouched", "quantity": quantity, "depth": layer / 4}
        | _numbers(0.5)
        for (variant, quantity), layer in product(lines, LAYERS)
    )


def _training() -> pl.DataFrame:
    return _table(
        {"model": "alpha", "step": step, "loss": 3.0 - step / 9, "held_out_loss": float("nan") if step % 4 else 3.0}
        | {"n_training": 1800, "n_held_out": 100}
        for step in range(9)
    )


@cache
def made_tables() -> dict[str, pl.DataFrame]:
    """Every table that figures read, by name."""
    effects = _of_conditions(("cosine_anisotropy", "without_first", 0.5), (RANK[0], "without_first", -0.5))
    condition = ("model", "variant", "kind", "pattern", "blocks", "strength")
    return {
        "summary": _summary(),
        "contrasts": _contrasts(),
        "mauve": _mauve(),
        "extrema": _extrema(),
        "attention": _attention(),
        "similarity": _similarity(),
        "balance": _balance(),
        "components": _components(),
        "interventions": effects.drop("kl"),
        "doses": effects.filter(metric="cosine_anisotropy").select(*condition, "kl"),
        "consequences": _of_conditions(("probe_log_loss", "pooled", 0.05), ("kl", "predictions", 0.1)).drop("kl"),
        "probes": _probes(),
        "training": _training(),
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
