"""The page of a model that shows a few texts token by token: one HTML file that asks for nothing outside of it."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.numbers import significant
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.report.examples import FIRST, MEASURES, NAMED
from homogenization.report.page import render
from homogenization.run.parquet import read_table, read_tables

# the numbers of a text at a layer, those of these that the study has
NUMBERS = {
    "effective_rank": "effective rank",
    "normalized_effective_rank": "normalised",
    "cosine_anisotropy": "mean cosine",
    "resultant_length": "resultant length",
    "max_explainable_variance": "max. explainable variance",
}
_LEAST_RATIO = 2.0**-20  # a ratio of 0 has no logarithm
_STEPS = 255
_TEMPLATE = Path(__file__).with_suffix(".jinja").read_text("utf-8")


def make(inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    """The page from the files of its tables, by name."""
    tables = {name: read_table(inputs[name]) for name in ("texts", "tokens", "metrics", "similarity")}
    tables["sample"] = read_tables(inputs["shards"])
    return text_page(tables, shown)


def text_page(tables: Mapping[str, pl.DataFrame], shown: Mapping[str, Any]) -> str:
    """The page as HTML.

    Args:
        tables: `texts`, those of the model (`report.tokens.EXAMPLE_TEXTS_SCHEMA`); `tokens`, theirs at every layer
            (`EXAMPLE_TOKENS_SCHEMA`); `metrics`, from which the numbers of a text are; and `similarity`, which says
            whether a text is accepted; `sample`, which has the row and further columns of the source.
        shown: `model`, `variants` and `contrast`: the label of the model, (name, label) of each variant with the
            original first, and what reviews were chosen by, in words.
    """
    numbers, packed = page_data(tables, shown)
    # no text can end the element that it stands in
    data = json.dumps(numbers, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return render(_TEMPLATE, model=shown["model"], data=Markup(data), packed=base64.b64encode(packed).decode())


def page_data(tables: Mapping[str, pl.DataFrame], shown: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What the script of the page reads: values for JSON, and a byte for each number of a token, deflated.

    The first token, which is often far from all others, has its numbers in the JSON; a byte b of the others stands for
    low + b (high - low) / 255, with the least and the greatest number of the text at the layer. Norms and attention
    are logarithms to the base 2 of ratios: to the median norm of the tokens shown, and to uniform attention. The bytes
    of a text are, layer by layer, those of its measures, then the cosines of pairs of tokens after the first, row by
    row from the right of the diagonal on, where the layer has a matrix. Arguments are those of `text_page`.
    """
    texts, metrics = tables["texts"], tables["metrics"]
    here = metrics.filter(pl.col("review_id").is_in(texts["review_id"].unique().to_list()), point=RESIDUAL_STREAM)
    here = here.filter(pl.col("model").is_in(texts["model"].unique().to_list()))
    named = [name for name in NUMBERS if name in set(here["metric"])]
    scores = tables["similarity"].select("variant", "review_id", pl.col("f1").fill_nan(None), "accepted")
    f1 = {row[:2]: row[2:] for row in scores.rows()}
    of_source = tables["sample"].select(pl.exclude("text", "label", "rank"))
    kept = {row.pop("review_id"): row for row in of_source.rows(named=True)}
    reviews: dict[str, Any] = {}
    packed = bytearray()
    for text in texts.iter_rows(named=True):
        key = text["variant"], text["review_id"]
        layers = tables["tokens"].filter(variant=key[0], review_id=key[1]).sort("layer")
        of_text = here.filter(variant=key[0], review_id=key[1]).sort("layer")
        known = {"id": key[1], "chosen": _chosen(text, shown["contrast"]), "kept": _told(kept[key[1]])}
        review = reviews.setdefault(key[1], known | {"texts": {}})
        score, accepted = f1.get(key, (None, True))
        review["texts"][key[0]] = {
            "n": text["n_tokens"],
            "tokens": text["tokens"],
            **{name: [int(one) for one in text[name]] for name in ("outside", "in_phrase")},
            "f1": score and round(score, 3),
            "accepted": accepted is not False,
            "start": len(packed),
            "layers": [_layer(row, packed) for row in layers.iter_rows(named=True)],
            "numbers": {name: _by_layer(of_text, name, layers["layer"].to_list()) for name in named},
        }
    return {
        "variants": list(shown["variants"]),
        "layers": tables["tokens"]["layer"].unique().sort().to_list(),
        "measures": list(MEASURES),
        "numbers": [[name, NUMBERS[name]] for name in named],
        "reviews": list(reviews.values()),
    }, zlib.compress(bytes(packed), 9)


def _chosen(text: Mapping[str, Any], contrast: str) -> str:
    """Why a review is shown."""
    if text["choice"] in (NAMED, FIRST):
        return {NAMED: "named in the configuration", FIRST: "among the first of the sample"}[text["choice"]]
    return f"{text['choice']} {contrast}: {significant(text['difference'])}"


def _told(columns: Mapping[str, Any]) -> str:
    """What the source says of a review: its row and the columns that are kept."""
    return "; ".join(f"{name}: {value}" for name, value in columns.items() if value is not None)


def _layer(row: Mapping[str, Any], packed: bytearray) -> dict[str, Any]:
    """What the JSON says of a text at a layer; the bytes come to the end of `packed`."""
    median = float(np.median(row["norm"]))
    values: dict[str, np.ndarray | None] = {name: row[name] and np.asarray(row[name], np.float64) for name in MEASURES}
    values["norm"] = _logarithms(values["norm"] / median if median else np.ones(len(row["norm"])))
    if values["attention"] is not None:
        values["attention"] = _logarithms(values["attention"])
    ranges = [None if of is None else [_short(of[0]), *_pack(of[1:], packed)] for of in values.values()]
    said = {"median": _short(median), "ranges": ranges}
    if row["cosines"] is not None:
        n = round((np.sqrt(8 * len(row["cosines"]) + 1) - 1) / 2)
        places = np.triu_indices(n)
        pairs = np.asarray(row["cosines"], np.float64)[(places[0] > 0) & (places[0] < places[1])]
        said |= {"n": n, "cosines": _pack(pairs, packed)}
    return said


def _logarithms(ratios: np.ndarray) -> np.ndarray:
    return np.log2(np.maximum(ratios, _LEAST_RATIO))


def _pack(values: np.ndarray, packed: bytearray) -> tuple[float, float]:
    """Append a byte for each value to `packed`; their least and their greatest."""
    low, high = (_short(values.min()), _short(values.max())) if len(values) else (0.0, 0.0)
    scaled = (values - low) / (high - low) if high > low else np.zeros(len(values))
    packed += np.clip(np.rint(scaled * _STEPS), 0, _STEPS).astype(np.uint8).tobytes()
    return low, high


def _by_layer(metrics: pl.DataFrame, name: str, layers: Sequence[int]) -> list[float | None]:
    """The metric of a text at each layer, in its first view; None where it has no finite value there."""
    described = describe_metric(name).views or [view for view in VIEWS if view in set(metrics["view"])] or [""]
    found = dict(metrics.filter(metric=name, view=described[0]).select("layer", "value").rows())
    return [_short(found[layer]) if np.isfinite(found.get(layer, np.nan)) else None for layer in layers]


def _short(value: float) -> float:
    """A number with six digits."""
    return float(f"{value:.6g}")
