"""Rows of the tables that statistics read."""

import numpy as np

from examples import example_table
from homogenization.tables.metrics import VALUES_SCHEMA

MARGIN = 0.02


def metric_rows(
    values, metric="normalized_effective_rank", view="raw", variant="original", model="m", point="residual_stream"
):
    """Rows of tables/metrics.parquet from (reviews, layers) values, of all layers from the input to the last."""
    review, layer = (index.ravel() for index in np.indices(values.shape))
    names = {"model": model, "variant": variant, "review_id": [f"r{number:03d}" for number in review]}
    names |= {"point": point, "view": view, "metric": metric}
    depth = layer / (values.shape[1] - 1)
    return example_table(VALUES_SCHEMA, **names, layer=layer, depth=depth, value=values.ravel())
