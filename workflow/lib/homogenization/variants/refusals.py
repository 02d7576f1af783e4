"""What is recorded of the candidates of a language model, and the reasons for which they are refused."""

import polars as pl

# in the order in which they are looked for
REASONS = ("truncated", "malformed", "empty", "identical", "length", "coverage", "position", "similarity")
CANDIDATE_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "candidate": pl.Int64,
    "request": pl.String,
    "text": pl.String,
    "reason": pl.String,
    "coverage": pl.Float64,
    "distance": pl.Float64,
    "length_ratio": pl.Float64,
    "f1": pl.Float64,
    "finish_reason": pl.String,
}
