"""Names that variants share with the configuration, the tables and the figures."""

# the untouched reviews, which every study has
ORIGINAL = "original"
# the variant of the pairs of unrelated reviews, the baseline of similarity
RANDOM_PAIRS = "random_pairs"
# sides of a sentence on which a language model can be asked to put key phrases; a filter checks them
SIDES = ("front", "end")
