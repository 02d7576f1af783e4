"""Shares of changed sentences that readers found sound, by variant: a blind audit."""

import logging
from collections.abc import Sequence
from itertools import combinations

import polars as pl

from homogenization.corpus.sentences import sentence_spans
from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.variants.audit import Passage, passages_of
from homogenization.variants.ratings import readings

#: A row for each rewritten variant.
AUDIT_SCHEMA = {
    **columns("variant"),
    "n_changed": pl.Int64,  #: passages that the variant changed, mostly of one sentence
    "n_rated": pl.Int64,  #: of these, rated by a reader or more
    "n_readers": pl.Int64,  #: readers with at least one of them
    "sound": pl.Float64,  #: share of the rated that every reader found sound
    "sound_low": pl.Float64,  #: lower bound of its 95 % interval (Wilson)
    "sound_high": pl.Float64,  #: upper bound of its 95 % interval (Wilson)
    "changed": pl.Float64,  #: share of the sentences of its reviews that the variant changed
    "sound_and_changed": pl.Float64,  #: sound * changed
    "agreement": pl.Float64,  #: share of pairs of readings of one passage that agree; null with one reader
    "kappa": pl.Float64,  #: Cohen's kappa of two readers; null unless two rated
}
SCHEMAS = {"audit": AUDIT_SCHEMA}


def tabulate(ratings: Sequence[str], audited: Sequence[str]) -> pl.DataFrame:
    """The table `audit` from `ratings`, a CSV file of each reader, and files of the variants, `original` among them."""
    texts = read_tables(audited)
    n_sentences = dict.fromkeys(texts["variant"].unique(), 0)
    lengths = {
        name: len(sentence_spans(text))
        for name, text in texts.filter(variant=ORIGINAL).select("review_id", "text").iter_rows()
    }
    for variant, review in texts.select("variant", "review_id").iter_rows():
        n_sentences[variant] += lengths[review]
    found = readings(ratings)
    changed: dict[str, list[Passage]] = {name: [] for name in sorted(n_sentences) if name != ORIGINAL}
    for passage in passages_of(texts):
        changed[passage.variant].append(passage)
    known = {passage.item for own in changed.values() for passage in own}
    if lost := sum(item not in known for reading in found for item in reading):
        logging.warning("%d ratings are of passages that no variant of this study has; they are left out.", lost)
    rows = [{"variant": name, **_shares(own, n_sentences[name], found)} for name, own in changed.items()]
    return pl.DataFrame(rows, schema=AUDIT_SCHEMA)


def _shares(
    own: Sequence[Passage], n_sentences: int, found: Sequence[dict[str, bool]]
) -> dict[str, float | int | None]:
    """The columns of one variant. A passage that occurs twice counts twice."""
    from scipy.stats import binomtest
    from sklearn.metrics import cohen_kappa_score

    given = [[reading[passage.item] for reading in found if passage.item in reading] for passage in own]
    rated = [answers for answers in given if answers]
    pairs = [pair for answers in rated for pair in combinations(answers, 2)]
    readers = [reading for reading in found if any(passage.item in reading for passage in own)]
    changed = sum(passage.n_sentences for passage in own) / n_sentences if n_sentences else None
    row = {"n_changed": len(own), "n_rated": len(rated), "n_readers": len(readers), "changed": changed}
    if rated:
        test = binomtest(sum(map(all, rated)), len(rated))
        low, high = test.proportion_ci(method="wilson")
        row |= {
            "sound": test.statistic,
            "sound_low": low,
            "sound_high": high,
            "sound_and_changed": test.statistic * changed,
        }
    if pairs:
        row["agreement"] = sum(one == other for one, other in pairs) / len(pairs)
    if pairs and len(readers) == 2 and len({answer for pair in pairs for answer in pair}) == 2:
        row["kappa"] = cohen_kappa_score(*zip(*pairs, strict=True))
    return row
