"""The names of the verdicts."""

UNDECIDED, NOT_TESTED = "undecided", "not tested"
YES, NO = "yes", "no"  # of claims
NEGLIGIBLE = "negligible"
MORE_ALIKE, LESS_ALIKE = "more alike", "less alike"  # of a difference of a metric that says how alike tokens are
HIGHER, LOWER = "higher", "lower"  # of any other
DECIDED = (MORE_ALIKE, LESS_ALIKE, HIGHER, LOWER)
