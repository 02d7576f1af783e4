"""The columns of what is read of pooled states."""

import polars as pl

from homogenization.interventions.schemas import LAYER_COLUMNS

#: A row for each text (`variant`), condition, review and layer, made by `probe_states`.
POOLED_READINGS_SCHEMA = {
    **LAYER_COLUMNS,
    "log_loss": pl.Float64,  #: of the review's label, nats; NaN without probes
    "correct": pl.Float64,  #: 1 where the probe's guess is right, else 0
    #: the same with permuted labels, mean over the permutations; of the originals alone
    **dict.fromkeys(("null_log_loss", "null_correct"), pl.Float64),
}
