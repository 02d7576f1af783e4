"""The names of the verdicts, and of what a statistic is taken over."""

SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTED = "supported", "contradicted", "undecided", "not tested"
YES, NO = "yes", "no"  # of claims
NEGLIGIBLE = "negligible"
MORE_ALIKE, LESS_ALIKE = "more alike", "less alike"  # of a difference of a metric that says how alike tokens are
HIGHER, LOWER = "higher", "lower"  # of any other
DECIDED = (MORE_ALIKE, LESS_ALIKE, HIGHER, LOWER)
REVIEWS, POOLS = "reviews", "pools"  # what a statistic is taken over
