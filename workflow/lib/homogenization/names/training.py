"""The columns of what training measures."""

import polars as pl

LOSSES_SCHEMA = {
    "step": pl.Int64,  #: steps made before
    "loss": pl.Float64,  #: mean over the tokens of the step (nats), without the penalty
    "held_out_loss": pl.Float64,  #: mean over the held-out tokens (nats); every tenth of the run, and at its end
    "penalised": pl.Float64,  #: the metric of the penalty, mean over its layers
    "gradient_norm": pl.Float64,  #: before clipping
    "learning_rate": pl.Float64,  #: of the step
    "n_tokens": pl.Int64,  #: tokens of the step
    "n_training": pl.Int64,  #: reviews to train on
    "n_held_out": pl.Int64,  #: reviews held out
}
