"""The columns of what training measures."""

import polars as pl

LOSSES_SCHEMA = {
    "step": pl.Int64,  #: steps made before
    "loss": pl.Float64,  #: mean over the tokens of the step (nats), without the penalty
    "penalty": pl.Float64,  #: metric of the penalty, mean over the texts of the step and over `layers`; not weighted
    "held_out_loss": pl.Float64,  #: mean over the held-out tokens (nats); before the first step and after the last
    "held_out_penalty": pl.Float64,  #: metric of the penalty, mean over the held-out texts and over `layers`; as often
    "layers": pl.String,  #: penalised layers, with commas
    "n_training": pl.Int64,  #: reviews to train on
    "n_held_out": pl.Int64,  #: reviews held out
}
