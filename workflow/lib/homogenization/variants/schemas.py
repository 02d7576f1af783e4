"""The columns of key phrases, of variants, of their similarity and of their fluency."""

import polars as pl

from homogenization.names.columns import columns

#: A row for each place of a key phrase.
KEYPHRASE_SCHEMA = {
    **columns("review_id"),
    "phrase": pl.String,  #: its words, casefolded
    "score": pl.Float64,  #: of the phrase in the review
    "sentence": pl.Int64,  #: number of the sentence, from 0
    **dict.fromkeys(("start", "end"), pl.Int64),  #: characters of the review, end exclusive
}
PLACEMENT = pl.Struct(
    {"phrase": pl.String, "sentence": pl.Int64, "original_position": pl.Float64, "position": pl.Float64}
)
VARIANT_SCHEMA = {
    **columns("variant", "review_id"),
    "text": pl.String,
    "label": pl.String,
    "placements": pl.List(PLACEMENT),
}
#: A row for each rewritten review. `similarity/random_pairs/{shard}.parquet` has the same columns, with the variant
#: `random_pairs`, and `other_review_id` String.
SCORE_SCHEMA = {
    **columns("variant", "review_id"),
    **dict.fromkeys(("precision", "recall", "f1"), pl.Float64),  #: BERTScore against the original, not rescaled
}
#: A row for each review of the variant, or original.
FLUENCY_SCHEMA = {
    **columns("variant", "review_id"),
    "n_words": pl.Int64,  #: words of the text
    "n_tokens": pl.Int64,  #: tokens that are predicted
    "loss_per_word": pl.Float64,  #: nats
}
# a token: start and end are characters of the review, `head` is the number in the sentence of the token that it depends
# on, `pos` and `tag` its universal and its English part of speech, `chunk` and `name` number the noun chunks and the
# names of the sentence
PARSE_SCHEMA = {
    **columns("review_id"),
    **dict.fromkeys(("sentence", "start", "end", "head"), pl.Int64),
    **dict.fromkeys(("pos", "tag", "dep"), pl.String),
    **dict.fromkeys(("chunk", "name"), pl.Int64),
}
