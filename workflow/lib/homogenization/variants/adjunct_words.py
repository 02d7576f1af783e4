"""English words by which a phrase that a construction can move is told from one that it cannot."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


#: Third-person pronouns, which may refer to a noun of the sentence.
PRONOUNS = _words(
    "he she it they him her them his hers its their theirs himself herself itself themselves this that these those "
    "other others"
)
#: Pronouns that mean the same wherever they stand.
SPEAKERS = _words("i me my mine myself we us our ours you your yours yourself one")
#: Verbs with which a sentence without a subject is an imperative.
IMPERATIVES = _words(
    "avoid be buy check consider do enjoy forget get give go imagine let look make read remember rent save see skip "
    "stay take think try watch"
)
#: What may stand before the verb of an imperative.
BEFORE_IMPERATIVES = _words("do don't just never please")
#: Words before an adjunct that belong to it in meaning and stand outside of it in the parse.
FOCUS = _words(
    "all almost also aside back especially even exactly just mainly merely mostly not only particularly right simply"
)
#: Adverbs that say how long before or after something is.
DISTANCES = _words("directly immediately later long shortly soon well")
#: Words by which a main clause answers the clause before it.
ANSWERS = _words("anyway doubt either instead nevertheless otherwise still then though too")
#: Words of degree, which point at what follows.
DEGREES = _words("best ever first last most only so such too worst")
#: Words of the main clause with which "because" and "when" have two readings.
NEGATIONS = _words("barely hardly neither never no nobody none not nothing only just n't n’t")
#: Conjunctions of clauses that stand before the main clause or behind it.
CONJUNCTIONS = _words("after although because before if once since though unless until when whenever")
#: Those, and prepositions, before which a comma stands at the end of a sentence.
CONCESSIVE = _words("although despite like though unlike")
#: Words of an event, before which a clause with "when" is no condition.
EVENTS = _words("about first just last only then was were")
#: Verbs of a clause with "if" that comments on what is said, and is no condition of it.
COMMENTS = _words("believe guess guessed know mean seen see think thinks wonder wondering")
#: Verbs of a clause with "if" that ends with them and comments on a word ("if you will").
WISHES = _words("like please want will")
#: Last words of a clause that leaves out what another has said.
AUXILIARIES = _words("am are can could did do does had has have is n't not n’t should was were will would")
#: Words behind a conjunction, and at the beginning of a sentence, with which no clause of its own begins.
NO_SUBJECTS = _words("if neither nor only though what which who whose")
#: Verbs of which a clause with "if" or "when" may be the object.
ASKING = _words(
    "ask asked care cared cares decide explain figure forget hate hated help is knew know known knows like liked "
    "love loved matter matters mind remember remembered said say see tell told understand was wonder wondered "
    "wondering 's ’s"
)
#: Verbs that need a complement.
COPULAS = _words("am are be been feel feels felt is look looked looks seem seemed seems was were 'm 're 's ’m ’re ’s")
#: Prepositions whose phrase is an adjunct of any verb.
FREE_PREPOSITIONS = _words(
    "according amid amidst amongst because besides despite due during instead since throughout unlike until without"
)
#: Prepositions that make an adjunct with a gerund.
GERUND_PREPOSITIONS = _words("after before besides by despite instead since upon without")
#: Prepositions whose phrase is an adjunct with a noun of time, and with a noun of place.
TIME_PREPOSITIONS, PLACE_PREPOSITIONS = _words("after at before for from in on within"), _words("at in on")
TIMES = _words(
    "afternoon age beginning century childhood day days decade decades end evening finale future hour hours minute "
    "minutes moment moments month months morning night nights past point present second seconds start summer time "
    "today tonight week weekend weeks winter year years yesterday 1920s 1930s 1940s 1950s 1960s 1970s 1980s 1990s "
    "2000s 30s 40s 50s 60s 70s 80s 90s '30s '40s '50s '60s '70s '80s '90s"
)
PLACES = _words(
    "adaptation america book career case cinema city country dvd england episode episodes europe film films flick "
    "genre hollywood hotel house japan life list movie movies novel opening original part picture production scene "
    "scenes school screen sequel sequence series set show soundtrack stage story television theater theaters "
    "theatre town tv universe version video war world"
)
#: Determiners of a noun phrase of time that is an adjunct.
DEFINITE_TIMES = _words("each every last next one that the these this")
#: Nouns of time that a thing may be for ("for a rainy day").
PARTS_OF_WEEKS = _words("afternoon day evening morning night weekend")
#: Verbs of motion and of place, which a phrase of place completes.
MOTIONS = _words(
    "act acted acts appear appeared appears arrive arrived arrives based be been believe believed believes came "
    "come comes die ended ends fit fits get gets go goes going got live lived lives moved put puts sat set sit sits "
    "star starred starring stars stay stayed stays take takes took went work worked works"
)
#: Phrases that are adjuncts with every verb; a comma precedes them at the end.
DISCOURSE = _phrases(
    "after all|all in all|as a matter of fact|as a result|as usual|at best|at least|at the very least|"
    "by comparison|by the way|either way|for example|for instance|for me|for my money|for once|"
    "for some reason|for the most part|in fact|"
    "in general|in my humble opinion|in my opinion|in my view|in other words|in particular|in reality|"
    "in retrospect|in short|in that case|in the end|in theory|in this case|of course|"
    "on the other hand|on the plus side|on the whole|to be fair|to be honest|to be sure|to me|"
    "to my surprise|to say the least|without a doubt|without question"
)
