"""Columns of the table of a language model's candidates, and the reasons for refusals."""

import polars as pl

from homogenization.vocabulary.columns import columns

# in the order of the checks
REASONS = ("truncated", "malformed", "empty", "identical", "length", "coverage", "position", "similarity")
JUDGEMENT_SCHEMA = {
    "reason": pl.String,  #: the first filter that it fails; null where it passes
    #: share of the review's distinct key phrases that stand in it word for word; null where not judged, also in the
    #: next columns
    "coverage": pl.Float64,
    #: mean distance of the key phrases from their side of the sentence, as a fraction of the sentence
    "distance": pl.Float64,
    "length_ratio": pl.Float64,  #: its words / the review's
    "f1": pl.Float64,  #: BERTScore, with `rewriting.min_f1`
    "finish_reason": pl.String,  #: why the model stopped: `stop`, or `length` for an answer cut short
}
CANDIDATE_SCHEMA = {
    **columns("variant", "review_id"),
    "candidate": pl.Int64,
    "request": pl.String,
    "text": pl.String,
    **JUDGEMENT_SCHEMA,
}
