"""Columns of the table of a language model's candidates, and the reasons for refusals."""

import polars as pl

# in the order of the checks
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
