"""Write the sentences of reviews in which an adjunct can stand at the front or at the end, each as a text of its own.

`python docs/gallery/movable_sentences.py REVIEWS.parquet OUT.parquet [JOINED.parquet WHOLE.parquet]` reads the columns
text and label, and writes both, a row for each sentence, for constructions.yaml. JOINED.parquet has texts of 1, 2 and 4
of these sentences end to end, for constructions-dose.yaml, and WHOLE.parquet the reviews that hold one, for
constructions-reviews.yaml.
"""

import random
import sys
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2] / "workflow" / "lib"))

from homogenization.config.texts import Parser
from homogenization.corpus.cleaning import clean_reviews
from homogenization.names.variants import KEEPING_WORDS, SIDES
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.constructions import ranked
from homogenization.variants.parsing import parse_reviews

COUNTS = (1, 2, 4)


def movable(raw: pl.DataFrame) -> pl.DataFrame:
    """The sentences with an adjunct that moves, in the order of their reviews: text, label, review (its whole text)."""
    reviews = clean_reviews(raw.with_row_index("row"))
    sentences = parsed_sentences(reviews, parse_reviews(reviews, Parser().params()))
    rows = [
        (sentence.written, label, review)
        for name, label, review in reviews.select("review_id", "label", "text").iter_rows()
        for sentence in sentences[name]
        if ranked(sentence, [], KEEPING_WORDS, SIDES, "any")
    ]
    return pl.DataFrame(rows, schema=["text", "label", "review"], orient="row").unique("text", maintain_order=True)


def joined(sentences: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Texts of the first, the first two and all four sentences of the same fours, drawn within labels: text, label."""
    rows = []
    for (label,), group in sentences.group_by("label", maintain_order=True):
        texts = random.Random(seed).sample(group["text"].to_list(), len(group))
        fours = [texts[start : start + COUNTS[-1]] for start in range(0, len(texts) - COUNTS[-1] + 1, COUNTS[-1])]
        rows += [(" ".join(four[:count]), label) for four in fours for count in COUNTS]
    return pl.DataFrame(rows, schema=["text", "label"], orient="row")


if __name__ == "__main__":
    source, target, *more = sys.argv[1:]
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    found = movable(pl.read_parquet(source))
    found.select("text", "label").write_parquet(target)
    if more:
        joined(found).write_parquet(more[0])
        found.select("label", text="review").unique("text", maintain_order=True).write_parquet(more[1])
