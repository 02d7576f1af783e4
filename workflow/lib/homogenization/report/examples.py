"""The choice of the reviews that the report shows token by token."""

from collections.abc import Sequence

import polars as pl

from homogenization.measures.views import ROWS_OF
from homogenization.names.variants import ORIGINAL
from homogenization.tables.comparisons import same_texts


def chosen_reviews(
    metrics: pl.DataFrame,
    similarity: pl.DataFrame,
    review_ids: Sequence[str],
    *,
    variant: str | None,
    minus: str | None,
    metric: str | None,
    view: str,
) -> list[tuple[str, str]]:
    """The reviews with the least, the median and the greatest difference after the last block: (review_id, which).

    Reviews count that are accepted in both variants with texts that differ and have a value in both. Of n reviews in
    the order of their differences, equal ones in the order of their ids, number ⌈n / 2⌉ is the median; of fewer than
    three, some are not there. Where there is none, or no variant, the value of the originals takes the place of the
    difference; where there is none either, the first reviews of the sample stand for them.

    Args:
        metrics: rows of the table `metrics`, those of the model whose values count in the residual stream.
        similarity: the table `similarity`.
        review_ids: all reviews of the sample.
        variant: the variant; None where the study has no contrast.
        minus: the variant that is subtracted.
        metric: the metric; None where the study has none.
        view: its view.
    """
    rows = metrics.filter(view=ROWS_OF.get(view, view))
    last = rows.filter(pl.col("layer") == pl.col("layer").max())
    value = pl.lit(None, pl.Float64) if metric is None else pl.col(metric).cast(pl.Float64)
    output = last.select("variant", "review_id", value=value).filter(pl.col("value").is_finite())
    original = output.filter(variant=ORIGINAL).select("review_id", "value")
    found = pl.DataFrame(schema=original.schema)
    if variant is not None:
        of, less = (output.filter(variant=name).drop("variant") for name in (variant, minus))
        both = of.join(less, on="review_id", suffix="_minus")
        both = both.join(same_texts(similarity, variant, minus), on="review_id", how="anti")
        found = both.select("review_id", value=pl.col("value") - pl.col("value_minus"))
    ordered = (original if found.is_empty() else found).sort("value", "review_id")["review_id"].to_list()
    if not ordered:
        return [(review_id, "among the first") for review_id in review_ids[:3]]
    last = len(ordered) - 1
    places = {0: "least", last: "greatest"} | ({} if last == 1 else {last // 2: "median"})
    return [(ordered[place], places[place]) for place in sorted(places)]
