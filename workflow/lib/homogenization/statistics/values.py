"""Values of one model as arrays: reviews × cells of each variant. A cell is a metric at a place: point, layer, view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Self

import numpy as np
import polars as pl

from homogenization.measures.depth import REGIONS
from homogenization.names.consequences import PREDICTIONS
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.estimate import means
from homogenization.tables.over_reviews import as_array
from homogenization.tables.regions import at_layers, yardsticks

PARTS = ("all", *REGIONS)  # of the depth
CELL = ("point", "layers", "layer", "depth", "view", "metric")


@dataclass(frozen=True)
class Values:
    """Values of one model.

    Attributes:
        cells: `CELL` and yardstick of each cell: layers of the model, and after them the parts of the depth.
        members: of each part, the places of its layers.
        review_ids: names of the reviews, sorted, so that no order of rows decides which one gets which sign.
        by_variant: (reviews, layers) float64, NaN where a review is not accepted or has no value.
    """

    cells: pl.DataFrame
    members: Sequence[np.ndarray]
    review_ids: Sequence[str]
    by_variant: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Self:
        """Those of rows of one model: variant, review_id, point, layer, depth, view, metric, value."""
        keys = ("point", "view", "metric", "layer")
        layers = rows.group_by(keys).agg(pl.col("depth").first()).sort(keys).with_row_index("place")
        stream = layers.filter(point=RESIDUAL_STREAM)
        parts = pl.concat(
            stream.filter(at_layers(name)).group_by(keys[:-1]).agg(members="place").with_columns(layers=pl.lit(name))
            for name in PARTS
        ).sort(*keys[:-1], "layers")
        cells = pl.concat([layers, parts], how="diagonal").select(CELL)
        cells = cells.join(yardsticks_of(rows), on=("view", "metric"), how="left", maintain_order="left")
        variants = rows.select("variant").unique().sort("variant")
        reviews = rows.select("review_id").unique().sort("review_id")
        arrays = as_array(rows, "value", variants, reviews, layers.select(keys))
        members = [places.to_numpy() for places in parts["members"]]
        by_variant = dict(zip(variants["variant"], arrays, strict=True))
        return cls(cells, members, reviews["review_id"].to_list(), by_variant)

    def only(self, review_ids: Sequence[str]) -> Self:
        """The same of some of the reviews."""
        chosen = np.isin(self.review_ids, list(review_ids))
        by_variant = {variant: values[chosen] for variant, values in self.by_variant.items()}
        return replace(self, review_ids=list(compress(self.review_ids, chosen)), by_variant=by_variant)

    def with_parts(self, values: np.ndarray) -> np.ndarray:
        """(reviews, cells): values at the layers, and then each review's mean over each part of the depth."""
        return np.column_stack([values, *(means(values[:, places].T) for places in self.members)])

    def of_variant(self, variant: str) -> np.ndarray:
        """(reviews, layers); all NaN where no review is accepted."""
        shape = len(self.review_ids), len(self.cells) - len(self.members)
        return self.by_variant.get(variant, np.full(shape, np.nan))


def yardsticks_of(rows: pl.DataFrame) -> pl.DataFrame:
    """metric, view and what differences are measured by (`regions.yardsticks`), of the originals of one model."""
    points = pl.col("point").is_in([RESIDUAL_STREAM, PREDICTIONS])
    return yardsticks(rows.filter(points, pl.col("variant") == ORIGINAL), ("metric",))
