"""The columns of files of consequences: pooled states, texts, what is read of pooled states; and of the table harm."""

import polars as pl

from homogenization.interventions.schemas import LAYER_COLUMNS
from homogenization.names.columns import columns, condition_columns, with_ends
from homogenization.names.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE

#: A row for each text (`variant`), condition, review and layer, made by `probe_states`.
POOLED_READINGS_SCHEMA = {
    **LAYER_COLUMNS,
    "log_loss": pl.Float64,  #: of the review's label, nats; NaN without probes
    "correct": pl.Float64,  #: 1 where the probe's guess is right, else 0
    #: the same with permuted labels, mean over the permutations; of the originals alone
    **dict.fromkeys(("null_log_loss", "null_correct"), pl.Float64),
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
}
#: A row for each model and condition: changes from the untouched run, of the originals, review by review. Intervals are
#: those of contrasts. `_output` is the same after the last block.
HARM_SCHEMA = {
    **columns("model"),
    **condition_columns("kind", "pattern", "blocks", "strength"),
    "placebo": pl.Boolean,  #: a control: attention changes as much without what a pattern is about
    **columns("n_reviews"),
    "n_sink_moved": pl.Int64,  #: of these, reviews in which another token took over the sink; they count here
    **with_ends("cosine", "cosine_output"),  #: change of the mean cosine of all tokens, mean over layers
    #: change of the normalised effective rank of the centred tokens, mean over layers
    **with_ends("rank", "rank_output"),
    **with_ends("kl"),  #: KL of the next token from the untouched run, nats
    **with_ends("cross_entropy"),  #: change of the cross-entropy, nats
    **with_ends("probe", "probe_output"),  #: change of the log-loss of the probe, mean over layers, nats
    "reason": pl.String,  #: why KL and cross-entropy are missing; else null
}
