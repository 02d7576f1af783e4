"""Names of perturbed texts and of what is measured of consequences. Every parse of the Snakefile imports them."""

TYPO, DELETED_WORD = PERTURBATIONS = ("typo", "deleted_word")
LABELS = {TYPO: "one typo", DELETED_WORD: "one word deleted"}
# what draws a token or an order by the number of tokens: in a perturbed text, often another one
DRAWN = ("scattered", "permuted", "permuted_template", "random", "shuffled")
METRICS = ("cosine_anisotropy", "normalized_effective_rank")
KL, CROSS_ENTROPY, PROBE, SHIFT = "kl", "cross_entropy", "probe_log_loss", "shift"
PREDICTIONS, POOLED = "predictions", "pooled"  # views of what no view of the tokens has
# what a claim may be about
OUTCOMES = (*METRICS, KL, CROSS_ENTROPY, PROBE, SHIFT)
