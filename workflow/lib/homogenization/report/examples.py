"""The choice of the reviews that a page shows token by token."""

from collections.abc import Sequence

import polars as pl

from homogenization.measures.views import ROWS_OF
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.tables.comparisons import same_texts

NAMED, FIRST = "named", "first"  # why a review is there: the configuration names it, or it is first in the sample
LEAST, MEDIAN, GREATEST = "least", "median", "greatest"  # or it has this difference

Choice = list[tuple[str, str, float | None]]  # review_id, why it is there, and the difference that it has


def chosen_reviews(
    metrics: pl.DataFrame,
    similarity: pl.DataFrame,
    review_ids: Sequence[str],
    model: str,
    *,
    variant: str | None,
    minus: str | None,
    metric: str | None,
    view: str,
) -> Choice:
    """The reviews with the least, the median and the greatest difference after the last block, in this order.

    Reviews count that are accepted in both variants with texts that differ and have a value in both. Of n reviews in
    the order of their differences, equal ones in the order of their ids, number ⌈n / 2⌉ is the median; with fewer than
    three, some are not there. Where there is none, or no variant, the value of the originals takes the place of the
    difference; and where there is none either, the first reviews of the sample stand for them.

    Args:
        metrics: the table `metrics`.
        similarity: the table `similarity`.
        review_ids: all reviews of the sample.
        model: the model whose values count.
        variant: the variant; None where the study has no contrast.
        minus: the variant that is subtracted.
        metric: the metric; None where the study has none.
        view: its view.
    """
    rows = metrics.filter(model=model, point=RESIDUAL_STREAM, view=ROWS_OF.get(view, view))
    last = rows.filter(pl.col("layer") == pl.col("layer").max())
    value = pl.lit(None, pl.Float64) if metric is None else pl.col(metric).cast(pl.Float64)
    output = last.select("variant", "review_id", value=value).filter(pl.col("value").is_finite())
    found = pl.DataFrame(schema={"review_id": pl.String, "value": pl.Float64})
    if variant is not None:
        of, less = (output.filter(variant=name).drop("variant") for name in (variant, minus))
        both = of.join(less, on="review_id", suffix="_minus")
        both = both.join(same_texts(similarity, variant, minus), on="review_id", how="anti")
        found = both.select("review_id", value=pl.col("value") - pl.col("value_minus"))
    if found.is_empty():
        found = output.filter(variant=ORIGINAL).select("review_id", "value")
    ordered = found.sort("value", "review_id").rows()
    if not ordered:
        return [(review_id, FIRST, None) for review_id in review_ids[:3]]
    last = len(ordered) - 1
    places = {0: LEAST, last: GREATEST, last // 2: MEDIAN} if last != 1 else {0: LEAST, 1: GREATEST}
    return [(ordered[place][0], places[place], ordered[place][1]) for place in sorted(places)]
