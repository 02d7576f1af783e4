"""Names that variants share with the configuration, the tables and the figures."""

# the untouched reviews, which every study has
ORIGINAL = "original"
# the variant of the pairs of unrelated reviews, the baseline of similarity
RANDOM_PAIRS = "random_pairs"
# sides of a sentence on which a language model can be asked to put key phrases; a filter checks them
SIDES = ("front", "end")
# where the rule-based rewriter moves the phrases of a sentence
RULE_POSITIONS = (*SIDES, "scattered", "inward")
# constructions: of adjuncts, and those that change a few words; a study that names none has the first two
_ADJUNCTS = ("adjunct", "clause", "adverb")
REWORDINGS = ("slifting", "wh_cleft", "copula", "as_for", "passive")
KEEPING_WORDS = _ADJUNCTS[:2]
# where the phrase of each can stand
CONSTRUCTION_POSITIONS = (*SIDES, "inward")
CONSTRUCTIONS = dict.fromkeys(_ADJUNCTS, CONSTRUCTION_POSITIONS) | dict.fromkeys(REWORDINGS, SIDES)
# which question a control answers (docs/variants.md), and what it is, in words
CONTROL_ROLES = {
    "edge": "the same phrases moved inward",
    "key": "other phrases moved alike",
    "side": "the same adjuncts at the end",
    "rewriting": "a plain rewriting",
}
