"""The columns of key phrases, of variants, of their similarity and of their fluency."""

import polars as pl

KEYPHRASE_SCHEMA = {
    "review_id": pl.String,
    "phrase": pl.String,
    "score": pl.Float64,
    "sentence": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
}
PLACEMENT = pl.Struct(
    {"phrase": pl.String, "sentence": pl.Int64, "original_position": pl.Float64, "position": pl.Float64}
)
VARIANT_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "text": pl.String,
    "label": pl.String,
    "placements": pl.List(PLACEMENT),
}
SCORE_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "precision": pl.Float64,
    "recall": pl.Float64,
    "f1": pl.Float64,
}
FLUENCY_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "n_words": pl.Int64,
    "n_tokens": pl.Int64,
    "loss_per_word": pl.Float64,
}
# a token: start and end are characters of the review, `head` is the number in the sentence of the token that it depends
# on, `chunk` and `name` number the noun chunks and the names of the sentence
PARSE_SCHEMA = {
    "review_id": pl.String,
    "sentence": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
    "head": pl.Int64,
    "pos": pl.String,
    "dep": pl.String,
    "chunk": pl.Int64,
    "name": pl.Int64,
}
