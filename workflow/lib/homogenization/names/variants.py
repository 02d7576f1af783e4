"""Names that variants share with the configuration, the tables and the figures."""

# the untouched reviews, which every study has
ORIGINAL = "original"
# the variant of the pairs of unrelated reviews, the baseline of similarity
RANDOM_PAIRS = "random_pairs"
# sides of a sentence on which a language model can be asked to put key phrases; a filter checks them
SIDES = ("front", "end")
# where the rule-based rewriter moves the phrases of a sentence
RULE_POSITIONS = (*SIDES, "scattered", "inward")
# kinds of adjuncts that constructions move, and where they put them; a study that names no kinds has the first two
CONSTRUCTIONS = ("adjunct", "clause", "adverb")
CONSTRUCTION_POSITIONS = (*SIDES, "inward")
# constructions that a language model names: those, a comment behind what it is about, a cleft, a subject and a
# predicate that change places, a passive; and none
WAYS = (*CONSTRUCTIONS, "comment", "cleft", "copula", "passive")
# what a control has in common with its variant, and which question it answers (docs/variants.md)
CONTROL_ROLES = ("edge", "key", "side", "rewriting")
