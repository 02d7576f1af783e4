"""What the figures of pooled states share: the texts that untouched models have read."""

from dataclasses import dataclass

import polars as pl

from homogenization.figures.shown import Named, Shown, names_of, require_rows
from homogenization.figures.style import VariantStyle, variant_styles
from homogenization.tables.intervened import UNTOUCHED
from homogenization.vocabulary.consequences import LABELS


@dataclass(frozen=True)
class ReadTexts:
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
    styles: dict[str, VariantStyle]


def read_texts(whole: pl.DataFrame, shown: Shown, what: str) -> ReadTexts:
    """The rows of `whole` that are levels of untouched models; `what` names them where there are none.

    Raises:
        HomogenizationError: the table holds no such row of these models.
    """
    texts = [*shown.variants, *LABELS.items()]
    table = whole.filter(
        pl.col("model").is_in(names_of(shown.models)),
        pl.col("variant").is_in(names_of(texts)),
        pl.col("minus").is_null(),
        kind=UNTOUCHED,
    )
    require_rows(table, shown, what, whole["model"])
    models = [pair for pair in shown.models if pair[0] in set(table["model"])]
    styles = {name: style for name, style in variant_styles(texts).items() if name in set(table["variant"])}
    return ReadTexts(table, texts, models, styles)
