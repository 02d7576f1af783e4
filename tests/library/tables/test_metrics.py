import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.tables.metrics import VALUES_SCHEMA, metrics_of_job, tabulate, values_of
from measured import accepted, attention_of, matrices_of, received_by, states, wide_of, written


def test_values_by_view_and_metric():
    wide = metrics_of_job(matrices_of(), attention_of(), METRIC_NAMES)
    values = values_of(wide)
    assert dict(values.schema) == VALUES_SCHEMA
    assert values.select(*[name for name in VALUES_SCHEMA if name != "value"]).is_unique().all()
    assert_frame_equal(wide_of(values).drop("n_tokens"), wide.drop("n_tokens"), check_row_order=False)
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


def test_jobs_follow_one_another_and_hold_accepted_reviews(tmp_path):
    """Two shards of one job, of which review b is not accepted."""
    files = [written(tmp_path, *map(of, [("c",), ("a", "b")])) for of in (matrices_of, attention_of)]
    found = tabulate(*files, similarity=accepted("a", "c"), metrics=METRIC_NAMES)
    parts = [metrics_of_job(matrices_of(one), attention_of(one), METRIC_NAMES) for one in (("c",), ("a",))]
    assert_frame_equal(found, pl.concat(parts), check_exact=True)
