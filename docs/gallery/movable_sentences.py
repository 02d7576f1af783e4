"""Write the sentences of reviews in which an adjunct can stand at the front or at the end, each as a text of its own.

`python docs/gallery/movable_sentences.py REVIEWS.parquet OUT.parquet` reads the columns text and label, and writes
both, a row for each sentence, for constructions.yaml.
"""

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


def movable(raw: pl.DataFrame) -> pl.DataFrame:
    """The sentences with an adjunct that moves, in the order of their reviews: text, label."""
    reviews = clean_reviews(raw)
    sentences = parsed_sentences(reviews, parse_reviews(reviews, Parser().params()))
    rows = [
        (sentence.text[slice(*sentence.span)], label)
        for name, label in reviews.select("review_id", "label").iter_rows()
        for sentence in sentences[name]
        if ranked(sentence, [], KEEPING_WORDS, SIDES, "any")
    ]
    return pl.DataFrame(rows, schema=["text", "label"], orient="row").unique("text", maintain_order=True)


if __name__ == "__main__":
    source, target = sys.argv[1:]
    movable(pl.read_parquet(source)).write_parquet(target)
