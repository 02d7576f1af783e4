"""Columns of the tables of a language model's candidates, and the reasons for refusals."""

import polars as pl

from homogenization.names.columns import columns

# of a candidate, in the order of the checks; `declined` and those from `restated` to `chunks` are of sentences alone,
# those from `lost` to `chunks` of the gate
REASONS = (
    *("truncated", "malformed", "declined", "empty", "identical", "length", "coverage", "position", "restated"),
    *("names", "numbers", "negations", "lost", "repeated", "added", "adjunct", "detached", "parse", "chunks"),
    "similarity",
)
# what becomes of a sentence with key phrases
OUTCOMES = ("moved", "in_place", "kept")
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
SENTENCE_CANDIDATE_SCHEMA = {
    **columns("variant", "review_id"),
    "sentence": pl.Int64,
    **{name: CANDIDATE_SCHEMA[name] for name in ("candidate", "request", "text")},
    "taken": pl.Boolean,
    **{name: JUDGEMENT_SCHEMA[name] for name in ("reason", "length_ratio", "f1", "finish_reason")},
    "construction": pl.String,
}
#: A row for each sentence with key phrases, also of reviews that are left out.
SENTENCE_SCHEMA = {
    **columns("variant", "review_id"),
    "sentence": pl.Int64,  #: number of the sentence in the review, from 0
    "phrase": pl.String,  #: the key phrase that was to move; null where none can
    "outcome": pl.String,  #: `moved` (rewritten), `in_place` (the phrase stood there already) or `kept`
    "reason": pl.String,  #: of a kept sentence: `unsuited`, or the last filter that one of its candidates reached
    "accepted": pl.Boolean,  #: whether enough sentences of its review moved
}
