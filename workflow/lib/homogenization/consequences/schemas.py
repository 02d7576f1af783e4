"""The columns of files of consequences: pooled states, texts, what is read of pooled states; and of the table harm."""

import polars as pl

from homogenization.interventions.schemas import DOSES_SCHEMA, LAYER_COLUMNS
from homogenization.vocabulary.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE, SHIFT

POOLED_STATES_SCHEMA = {
    "review_id": pl.String,
    "condition": pl.String,
    "layer": pl.Int32,
    "state": pl.List(pl.Float32),
}
# type_token_ratio: different tokens / tokens
TEXTS_SCHEMA = {**DOSES_SCHEMA, "type_token_ratio": pl.Float64}
# log_loss in nats; null_*: with permuted labels, of the originals alone; shift, in_scales: NaN for the originals
POOLED_READINGS_SCHEMA = {
    **LAYER_COLUMNS,
    "log_loss": pl.Float64,
    "correct": pl.Float64,
    "null_log_loss": pl.Float64,
    "null_correct": pl.Float64,
    "shift": pl.Float64,
    "in_scales": pl.Float64,
}
_COSINE, _RANK = ("all_tokens", "cosine_anisotropy"), ("centred", "normalized_effective_rank")
# column -> cell (layers, view, metric) of the table `consequences`
OUTCOMES_OF_HARM = {
    "cosine": ("all", *_COSINE),
    "cosine_output": ("output", *_COSINE),
    "rank": ("all", *_RANK),
    "rank_output": ("output", *_RANK),
    "kl": ("all", PREDICTIONS, KL),
    "cross_entropy": ("all", PREDICTIONS, CROSS_ENTROPY),
    "probe": ("all", POOLED, PROBE),
    "probe_output": ("output", POOLED, PROBE),
    "shift": ("all", POOLED, SHIFT),
    "shift_output": ("output", POOLED, SHIFT),
}
ENDS = ("", "_low", "_high")
HARM_SCHEMA = {
    **dict.fromkeys(("model", "kind", "pattern", "blocks"), pl.String),
    "strength": pl.Float64,
    "placebo": pl.Boolean,
    **dict.fromkeys(("n_reviews", "n_sink_moved"), pl.Int64),
    **{f"{name}{end}": pl.Float64 for name in OUTCOMES_OF_HARM for end in ENDS},
    "perturbation": pl.String,
    "reason": pl.String,
}
