"""Names that variants share with the configuration, the tables and the figures."""

# the untouched reviews, which every study has
ORIGINAL = "original"
# the variant of the pairs of unrelated reviews, the baseline of similarity
RANDOM_PAIRS = "random_pairs"
# stands as `minus`: the ladder's curve is subtracted
DISORDER = "disorder"
# sides of a sentence, to which phrases can move
SIDES = ("front", "end")
# which question a control answers (docs/texts.md)
CONTROL_ROLES = ("edge", "key", "side", "rewriting")
