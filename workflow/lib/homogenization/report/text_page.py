"""The page of a model that shows a few texts token by token: one HTML file that asks for nothing outside of it."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from homogenization.corpus.sentences import places
from homogenization.names.numbers import significant
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.report.examples import FIRST, NAMED, chosen_reviews
from homogenization.report.page import render
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, read_tables

# the numbers of a text at a layer, those of these that the study has
NUMBERS = {
    "effective_rank": "effective rank",
    "normalized_effective_rank": "normalised",
    "cosine_anisotropy": "mean cosine",
    "resultant_length": "resultant length",
    "max_explainable_variance": "max. explainable variance",
}
# what colours the tokens, and the number that a step of its 16 bits stands for
MEASURES = {"cosine_to_mean": 2**-14, "norm": 2**-10, "attention": 2**-10}
_RATIOS = ("norm", "attention")
_LEAST_RATIO = 2.0**-20  # a ratio of 0 has no logarithm
_OF_TEXT = ("variant", "review_id")
_TEMPLATE = Path(__file__).with_suffix(".jinja").read_text("utf-8")


def make(inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    """The page from files by name: `metrics`, `similarity`; `sample`, `variants`, `keyphrases`, `texts`, `tokens`."""
    tables = {name: read_table(inputs[name]) for name in ("metrics", "similarity")}
    for name in ("sample", "variants", "keyphrases", "texts"):
        tables[name] = read_tables(inputs[name])
    chosen = chosen_texts(tables, shown)
    tables["tokens"] = pl.concat(read_table(path).join(chosen, on="review_id", how="semi") for path in inputs["tokens"])
    return text_page(tables, chosen, shown)


def chosen_texts(tables: Mapping[str, pl.DataFrame], shown: Mapping[str, Any]) -> pl.DataFrame:
    """The reviews that the page shows: `review_id`, `choice` and `difference`, in their order.

    Raises:
        HomogenizationError: a named review is not in the sample.
    """
    known = tables["sample"]["review_id"].to_list()
    if shown["reviews"] is None:
        rows = chosen_reviews(tables["metrics"], tables["similarity"], known, shown["name"], **shown["choice"])
    else:
        rows = [(name, NAMED, None) for name in shown["reviews"]]
        if missing := [name for name in shown["reviews"] if name not in known]:
            raise HomogenizationError(
                f"examples.reviews: {', '.join(missing)} is not in the sample. Allowed are the values of review_id in "
                "the files of the folder corpus, in the results."
            )
    schema = {"review_id": pl.String, "choice": pl.String, "difference": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def text_page(tables: Mapping[str, pl.DataFrame], chosen: pl.DataFrame, shown: Mapping[str, Any]) -> str:
    """The page as HTML.

    Args:
        tables: `texts` and `tokens`, those of the model (`measures.measure`); `variants`, the texts; `keyphrases`;
            `metrics`, from which the numbers of a text are; `similarity`, which says whether a text is accepted;
            `sample`, which has the row and further columns of the source.
        chosen: the reviews (`chosen_texts`).
        shown: `name` and `model`, name and label of the model; `variants`, (name, label) of each, the original first;
            `contrast`, what reviews were chosen by, in words; `tokens`, most tokens of a text.
    """
    numbers, packed = page_data(tables, chosen, shown)
    # no text can end the element that it stands in
    data = json.dumps(numbers, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return render(_TEMPLATE, model=shown["model"], data=Markup(data), packed=base64.b64encode(packed).decode())


def page_data(
    tables: Mapping[str, pl.DataFrame], chosen: pl.DataFrame, shown: Mapping[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """What the script of the page reads: values for JSON, and 16 bits for each number of a token, deflated.

    A number b of 16 bits, little-endian and signed, stands for b times the step of its measure. Norms and attention
    are logarithms to the base 2 of ratios: to the median norm of the text, and to uniform attention. The numbers of a
    text are, layer by layer, those of its measures; without attention at a layer, they are 0. Arguments are those of
    `text_page`.
    """
    metrics = tables["metrics"].filter(model=shown["name"], point=RESIDUAL_STREAM, view="raw")
    judged = tables["similarity"].select(*_OF_TEXT, pl.col("f1").fill_nan(None), "accepted")
    scores = {row[:2]: row[2:] for row in judged.rows()}
    written = {row[:2]: row[2] for row in tables["variants"].select(*_OF_TEXT, "text").rows()}
    terms = {name: sorted(set(of)) for name, of in tables["keyphrases"].group_by("review_id").agg("phrase").rows()}
    of_source = tables["sample"].select(pl.exclude("text", "label", "rank"))
    kept = {row.pop("review_id"): row for row in of_source.rows(named=True)}
    layers = tables["tokens"]["layer"].unique().sort().to_list()
    reviews, packed = [], bytearray()
    for review_id, choice, difference in chosen.rows():
        texts: dict[str, Any] = {}
        for name, _ in shown["variants"]:
            key = {"variant": name, "review_id": review_id}
            for text in tables["texts"].filter(**key).iter_rows(named=True):
                score, accepted = scores.get((name, review_id), (None, True))
                tokens = tables["tokens"].filter(**key).sort("layer")
                texts[name] = {
                    **_tokens(text, written[name, review_id], terms.get(review_id, ()), shown["tokens"]),
                    "f1": score and round(score, 3),
                    "accepted": accepted is not False,
                    "start": len(packed) // 2,
                    "numbers": _by_layer(metrics.filter(**key).sort("layer"), layers),
                }
                for row in tokens.iter_rows(named=True):
                    packed += _packed(row, shown["tokens"])
        if ORIGINAL in texts:
            known = {"id": review_id, "chosen": _reason(choice, difference, shown["contrast"])}
            reviews.append(known | {"kept": _told(kept[review_id]), "texts": texts})
    return {
        "variants": list(shown["variants"]),
        "layers": layers,
        "measures": list(MEASURES.items()),
        "attention": tables["tokens"]["attention"].is_not_null().any(),
        "numbers": [[name, NUMBERS[name]] for name in NUMBERS if metrics[name].is_not_null().any()],
        "reviews": reviews,
    }, zlib.compress(bytes(packed), 9)


def _tokens(text: Mapping[str, Any], written: str, terms: Sequence[str], most: int) -> dict[str, Any]:
    """The tokens that are shown of a text: their words, and which are outside of the text, or in a key phrase."""
    offsets = np.column_stack([text["token_starts"][:most], text["token_ends"][:most]])
    spans = list(chain(*places(written, terms).values()))
    outside = offsets[:, 1] == 0
    words = pieces(written, offsets)
    names = ["BOS" if place == 0 else "end" for place in range(len(words))]
    return {
        "n": text["n_tokens"],
        "tokens": np.where(outside, names, words).tolist(),
        "outside": outside.astype(int).tolist(),
        "in_phrase": [int(any(s < last and first < e for first, last in spans)) for s, e in offsets.tolist()],
    }


def pieces(text: str, offsets: np.ndarray) -> list[str]:
    """The text of each token with the blanks before it: together, `text` up to the last of them.

    A token that covers no further character, such as one outside of the text, or the second of the bytes of a
    character, has an empty text.

    Args:
        text: the text.
        offsets: (tokens, 2) first and last character of each token; (0, 0) outside of the text.
    """
    ends = [0, *np.maximum.accumulate(offsets[:, 1]).tolist()]
    return [text[start:end] for start, end in pairwise(ends)]


def _packed(row: Mapping[str, Any], most: int) -> bytes:
    """The numbers of a text at a layer."""
    found = []
    for name, step in MEASURES.items():
        numbers = np.asarray(row[name] or [1.0] * len(row["norm"]), np.float64)[:most]
        numbers = np.log2(np.maximum(numbers, _LEAST_RATIO)) if name in _RATIOS else numbers
        found.append(np.rint(numbers / step).astype("<i2"))
    return np.concatenate(found).tobytes()


def _by_layer(metrics: pl.DataFrame, layers: Sequence[int]) -> dict[str, list[float | None]]:
    """The numbers of a text at each layer; None where there is no finite value."""
    of_layer = {row["layer"]: row for row in metrics.iter_rows(named=True)}
    found = {name: [of_layer.get(layer, {}).get(name) for layer in layers] for name in NUMBERS}
    return {
        name: [float(f"{value:.6g}") if value is not None and np.isfinite(value) else None for value in of_name]
        for name, of_name in found.items()
    }


def _reason(choice: str, difference: float | None, contrast: str) -> str:
    """Why a review is shown."""
    if difference is None:
        return {NAMED: "named in the configuration", FIRST: "among the first of the sample"}[choice]
    return f"{choice} {contrast}: {significant(difference)}"


def _told(columns: Mapping[str, Any]) -> str:
    """What the source says of a review: its row and the columns that are kept."""
    return "; ".join(f"{name}: {value}" for name, value in columns.items() if value is not None)
