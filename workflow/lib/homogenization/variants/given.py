"""What the user's file says of each review, beside its text: variants that others wrote, and key phrases."""

import logging
from collections.abc import Iterator

import polars as pl

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.local_files import missing_column
from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.phrases import variant_table


def cells(reviews: pl.DataFrame, column: str, key: str) -> Iterator[tuple[str, str, str]]:
    """Review_id, text and cell of a column of the reviews, which a `key` of the configuration names; "" for a null.

    Raises:
        HomogenizationError: there is no such column.
    """
    if column not in reviews.columns:
        raise HomogenizationError(missing_column(key, column, "the corpus", reviews.columns))
    return reviews.select("review_id", "text", cell=pl.col(column).cast(pl.String).fill_null("")).iter_rows()


def given_variant(reviews: pl.DataFrame, variant: str, column: str) -> pl.DataFrame:
    """The variant whose texts stand in a column, cleaned as reviews are.

    Args:
        reviews: Columns review_id, text, label and `column`.
        variant: Name of the variant.
        column: Column of its texts.

    Returns:
        Columns of `VARIANT_SCHEMA`, a row for each review whose cell has words.
    """
    found = cells(reviews, column, f"variants.{variant}.column")
    made = [(name, text, []) for name, _, cell in found if words(text := clean_text(cell))]
    logging.info("%s: %d of %d reviews have a text in the column '%s'.", variant, len(made), len(reviews), column)
    return variant_table(variant, reviews, made)
