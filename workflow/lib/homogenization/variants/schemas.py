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
# why a candidate of a language model is refused, in the order of the checks
REASONS = ("truncated", "malformed", "empty", "identical", "length", "coverage", "position")
JUDGEMENT_SCHEMA = {
    "reason": pl.String,  #: the first filter that it fails; null where it passes
    #: share of the review's distinct key phrases that stand in it word for word; null where not judged, also in the
    #: next columns
    "coverage": pl.Float64,
    #: mean distance of the key phrases from their side of the sentence, as a fraction of the sentence
    "distance": pl.Float64,
    "length_ratio": pl.Float64,  #: its words / the review's
    "finish_reason": pl.String,  #: why the model stopped: `stop`, or `length` for an answer cut short
}
CANDIDATE_SCHEMA = {
    **columns("variant", "review_id"),
    "candidate": pl.Int64,
    "request": pl.String,
    "text": pl.String,
    **JUDGEMENT_SCHEMA,
}
#: A row for each rewritten review. `similarity/random_pairs/{shard}.parquet` has the same columns, with the variant
#: `random_pairs`.
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
