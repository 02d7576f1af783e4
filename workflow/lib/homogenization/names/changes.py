"""When too few texts are changed to compare them, and what changes more of them."""

#: Least share of texts that differ where all texts of a variant make one number: pooled tokens, positions of attention.
LEAST_SHARE = 0.9
MORE_CHANGE = "Longer texts, a larger corpus or a larger keyphrases.max_phrases change more"
