"""A model reads the few reviews that a page shows, in every variant of the page."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import places
from homogenization.report.examples import NAMED, chosen_reviews
from homogenization.report.tokens import (
    EXAMPLE_TEXTS_SCHEMA,
    EXAMPLE_TOKENS_SCHEMA,
    SCHEMAS,
    in_phrases,
    pieces,
    rows_of_text,
    sizes,
)
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, read_tables, write_tables

if TYPE_CHECKING:  # a model that reads nothing anew needs no torch
    from homogenization.states.extraction import HeldStates
    from homogenization.states.model import LanguageModel

Row = dict[str, Any]
OfVariants = Mapping[str, pl.DataFrame]  # by variant: review_id, text, original


def read_examples(model: "LanguageModel", inputs: Any, params: Any, files: Sequence[str]) -> None:
    """Choose the reviews, let a model read them, and write what the page needs: the tables of `report.tokens.SCHEMAS`.

    States are those of an extraction of the whole sample: of each review alone.

    Args:
        model: the model.
        inputs: files: `corpus` and `keyphrases`, one for each shard; `variants`, one for each variant and shard;
            `metrics` and `similarity`, which may be empty where reviews are named.
        params: parameters of the rule: `model`, the entry; `variants`, in the order of their files; `reviews`,
            or None; `choice`, the further arguments of `chosen_reviews`; `sizes`, those of `sizes`; `storage`,
            keyword arguments of `Reading`.
        files: files to write.

    Raises:
        HomogenizationError: a named review is not in the sample; and as `extract` does.
    """
    originals, n_shards = read_tables(inputs.corpus), len(inputs.corpus)
    chosen = _chosen(inputs, originals["review_id"].to_list(), params)
    of_originals = originals.select("review_id", original="text")
    texts = {}
    for place, name in enumerate(params.variants):
        variant = read_tables(inputs.variants[place * n_shards :][:n_shards]).select("review_id", "text")
        there = variant.join(chosen, on="review_id", how="semi")
        texts[name] = there.join(of_originals, on="review_id", how="left").sort("review_id")
    phrases = read_tables(inputs.keyphrases).join(chosen, on="review_id", how="semi")
    terms = {name: sorted(set(of)) for name, of in phrases.group_by("review_id").agg("phrase").rows()}
    of_texts, of_tokens = _read(model, texts, terms, params)
    of_texts = chosen.join(of_texts, on="review_id", maintain_order="left_right").select(*EXAMPLE_TEXTS_SCHEMA)
    write_tables([of_texts, of_tokens], files, SCHEMAS, {})


def _chosen(inputs: Any, review_ids: Sequence[str], params: Any) -> pl.DataFrame:
    """The columns review_id, choice and difference, in the order of the page."""
    if params.reviews is None:
        tables = read_table(inputs.metrics), read_table(inputs.similarity)
        rows = chosen_reviews(*tables, review_ids, params.model["name"], **params.choice)
    else:
        if missing := [name for name in params.reviews if name not in review_ids]:
            raise HomogenizationError(
                f"examples.reviews: {', '.join(missing)} is not in the sample. Allowed are the values of review_id in "
                f"{Path(inputs.corpus[0]).parent}/*.parquet."
            )
        rows = [(name, NAMED, None) for name in params.reviews]
    schema = {name: EXAMPLE_TEXTS_SCHEMA[name] for name in ("review_id", "choice", "difference")}
    return pl.DataFrame(rows, schema, orient="row")


def _read(
    model: "LanguageModel", texts: OfVariants, terms: Mapping[str, Sequence[str]], params: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables, the first without why a review is shown; the states of one variant at a time are in memory."""
    n_texts = sum(map(len, texts.values()))
    of_texts: list[Row] = []
    of_tokens: list[Row] = []
    for variant, reviews in texts.items():
        if not reviews.is_empty():
            states = _states(model, reviews, variant, params)
            shown = sizes(n_texts, states.layers, **params.sizes)
            for text, tokens in _rows(model, states, reviews, terms, shown):
                of_texts.append(text)
                of_tokens += tokens
    schema = {name: kind for name, kind in EXAMPLE_TEXTS_SCHEMA.items() if name not in ("choice", "difference")}
    return pl.DataFrame(of_texts, schema), pl.DataFrame(of_tokens, EXAMPLE_TOKENS_SCHEMA)


def _states(model: "LanguageModel", reviews: pl.DataFrame, variant: str, params: Any) -> "HeldStates":
    """The states of these texts."""
    from homogenization.states.extraction import read_states
    from homogenization.states.long_texts import Texts
    from homogenization.states.reading import Reading

    texts = Texts(*(reviews[name].to_list() for name in ("review_id", "text", "original")))
    identity = {"model": params.model["name"], "variant": variant, "shard": "examples"}
    return read_states(Reading(model, texts, identity, **params.storage))


def _rows(
    model: "LanguageModel",
    states: "HeldStates",
    reviews: pl.DataFrame,
    terms: Mapping[str, Sequence[str]],
    shown: tuple[int, int, list[int]],
) -> Iterator[tuple[Row, list[Row]]]:
    """The row of each text that the model reads, and those of its layers."""
    texts = dict(reviews.select("review_id", "text").rows())
    for index, review_id in enumerate(states.review_ids):
        first, stop = states.review_offsets[index : index + 2].tolist()
        span = slice(first, min(stop, first + shown[0]))
        offsets, text = states.token_offsets[span], texts[review_id]
        outside = offsets[:, 1] == 0
        names = model.tokenizer.convert_ids_to_tokens(states.token_ids[span].tolist())
        phrase_spans = list(chain(*places(text, terms.get(review_id, ())).values()))
        keys = {**{name: states.attributes[name] for name in ("model", "variant")}, "review_id": review_id}
        row = {
            **keys,
            "n_tokens": stop - first,
            "tokens": np.where(outside, names, pieces(text, offsets)).tolist(),
            "outside": outside.tolist(),
            "in_phrase": in_phrases(offsets, phrase_spans),
        }
        yield row, [{**keys, **of_layer} for of_layer in rows_of_text(states, index, *shown)]
