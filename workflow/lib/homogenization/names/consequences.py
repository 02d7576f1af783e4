"""Names of what is measured of consequences. Every parse of the Snakefile imports them."""

METRICS = ("cosine_anisotropy", "normalized_effective_rank")
KL, CROSS_ENTROPY, PROBE = "kl", "cross_entropy", "probe_log_loss"
PREDICTED = ("loss_per_word", "entropy", "divergence")  # of the predictions of a text
PREDICTIONS, POOLED = "predictions", "pooled"  # views of what no view of the tokens has; the first a point too
# what a claim may be about
OUTCOMES = (*METRICS, KL, CROSS_ENTROPY, PROBE)
