import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.tables.metrics import METRICS_SCHEMA, VALUES_SCHEMA, metrics_of_job, tabulate, values_of
from measured import accepted, attention_of, matrices_of, received_by, states, wide_of, written


def table(metrics=METRIC_NAMES, **options):
    return metrics_of_job(matrices_of(**options), attention_of(), metrics)


def test_a_row_for_each_matrix_and_each_block():
    wide = table()
    assert dict(wide.schema) == METRICS_SCHEMA
    assert wide.select("review_id", "point", "layer", "view").is_unique().all()
    # block 1 has attention, and its states are not stored
    matrices, blocks = 3 * 3 * 3, 3 * 2
    assert len(wide) == matrices + blocks
    assert dict(wide.select("layer", "depth").unique().rows()) == {0: 0.0, 1: 0.5, 2: 1.0}


def test_values_by_view_and_metric():
    values = values_of(table())
    assert dict(values.schema) == VALUES_SCHEMA
    assert values.select(*[name for name in VALUES_SCHEMA if name != "value"]).is_unique().all()
    cells, blocks = 3 * 3, 3 * 2
    of_tokens = sum(len(metric.views) for metric in GEOMETRY_METRICS.values()) - 2  # no layer is before
    of_attention = sum(len(metric.views) for metric in ATTENTION_METRICS.values())
    counted = cells + blocks // 2  # tokens of the block whose states are not stored
    assert len(values) == cells * (2 * len(SPECTRAL_METRICS) + of_tokens) + blocks * of_attention + counted
    assert_frame_equal(wide_of(values).drop("n_tokens"), table().drop("n_tokens"), check_row_order=False)
    of_place = values.filter(review_id="b", layer=2, point="residual_stream")
    found = {row[:2]: row[2] for row in of_place.select("metric", "view", "value").rows()}
    tokens = states("b", 2)
    rank = np.exp(stats.entropy(np.linalg.svd(tokens, compute_uv=False)))
    rest = tokens[1:] / np.linalg.norm(tokens[1:], axis=1)[:, None]
    assert found["effective_rank", "raw"] == pytest.approx(rank)
    assert found["normalized_effective_rank", "raw"] == pytest.approx(rank / 7)
    assert found["resultant_length", "without_first"] == pytest.approx(np.linalg.norm(rest.mean(axis=0)))
    assert found["first_token_attention_share", "all_tokens"] == pytest.approx(received_by("b", 2).received[0] / 9)
    assert found["sink_rate", "all_tokens"] == 0.5
    assert found["n_tokens", "all_tokens"] == 9


def test_one_token_review_is_nan_not_an_error():
    one = matrices_of(("a",), ("raw", "raw_without_first"), of=lambda review, layer: np.ones((1, 7)))
    values = values_of(metrics_of_job(one, attention_of(()), METRIC_NAMES))
    found = {(row["view"], row["metric"]): row["value"] for row in values.to_dicts()}
    assert found["raw", "effective_rank"] == 1
    assert math.isnan(found["raw_without_first", "effective_rank"])
    assert math.isnan(found["without_first", "cosine_anisotropy"])


def test_jobs_follow_one_another_and_hold_accepted_reviews(tmp_path):
    """Two shards of one job, of which review b is not accepted; attention was not recorded in the second."""
    shards = [("c",), ("a", "b")]
    files = {
        "matrices": written(tmp_path, *map(matrices_of, shards)),
        "attention": written(tmp_path, attention_of(shards[0]), attention_of(())),
    }
    parts = [
        metrics_of_job(matrices_of(shard), attention_of(shard if recorded else ()), METRIC_NAMES)
        for shard, recorded in ((("c",), True), (("a",), False))
    ]
    found = tabulate(**files, similarity=accepted("a", "c"), metrics=METRIC_NAMES)
    assert_frame_equal(found, pl.concat(parts), check_exact=True)
