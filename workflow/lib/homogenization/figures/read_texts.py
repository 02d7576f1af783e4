"""What the figures of pooled states share: the texts that untouched models have read."""

from typing import NamedTuple

import polars as pl

from homogenization.figures.shown import Named, Shown, named_in, names_of, require_rows, rows_of
from homogenization.figures.style import LineStyle, variant_styles
from homogenization.names.consequences import LABELS
from homogenization.tables.intervened import UNTOUCHED


class ReadTexts(NamedTuple):
    """The levels of a table of pooled states, untouched.

    Attributes:
        table: rows of the shown models and texts.
        texts: (name, label) pairs of variants and perturbed texts.
        models: (name, label) pairs of the models that are there.
        styles: styles of the texts that are there.
    """

    table: pl.DataFrame
    texts: Named
    models: Named
    styles: dict[str, LineStyle]


def read_texts(whole: pl.DataFrame, shown: Shown, what: str) -> ReadTexts:
    """The rows of `whole` that are levels of untouched models; `what` names them where there are none.

    Raises:
        HomogenizationError: the table holds no such row of these models.
    """
    texts = [*shown.variants, *LABELS.items()]
    table = rows_of(whole, shown, ("model",), kind=UNTOUCHED)
    table = table.filter(pl.col("variant").is_in(names_of(texts)), pl.col("minus").is_null())
    require_rows(table, shown, what, whole["model"])
    return ReadTexts(table, texts, named_in(shown.models, table["model"]), variant_styles(texts, set(table["variant"])))
