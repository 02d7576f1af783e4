import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.measures.geometry import GEOMETRY_SCHEMA, token_geometry
from homogenization.measures.spectra import SPECTRA_SCHEMA, singular_values
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.tables.metrics import METRICS_SCHEMA, metrics_of_reviews, tabulate
from measured import accepted, attention_of, geometry_of, spectra_of, states, table_of, written


class TestMetrics:
    everything = (*SPECTRAL_METRICS, *GEOMETRY_METRICS, *ATTENTION_METRICS)

    def table(self, metrics=everything, attention=True):
        return metrics_of_reviews(spectra_of(), geometry_of(), attention_of() if attention else None, metrics)

    def test_schema_keys_and_counts(self):
        table = self.table()
        assert dict(table.schema) == METRICS_SCHEMA
        keys = ["model", "variant", "review_id", "point", "layer", "view", "metric"]
        assert table.select(keys).is_unique().all()
        assert set(table["metric"]) == set(self.everything)
        cells = 3 * 3  # reviews, points and layers
        geometry_columns = sum(len(metric.views) for metric in GEOMETRY_METRICS.values())
        attention_columns = sum(len(metric.views) for metric in ATTENTION_METRICS.values())
        assert len(table) == cells * (2 * len(SPECTRAL_METRICS) + geometry_columns) + 3 * 2 * attention_columns
        assert dict(table.select("layer", "depth").unique().rows()) == {0: 0.0, 1: 0.5, 2: 1.0}
        assert table["value"].is_finite().all()

    def test_values(self):
        table = self.table()

        def value(metric, view, review="b", layer=2):
            chosen = table.filter(
                pl.col("point") == "residual_stream", metric=metric, view=view, review_id=review, layer=layer
            )
            return chosen["value"].item()

        tokens = states("b", 2)
        singular = np.linalg.svd(tokens, compute_uv=False)
        assert value("effective_rank", "raw") == pytest.approx(np.exp(stats.entropy(singular)))
        assert value("normalized_effective_rank", "raw") == pytest.approx(value("effective_rank", "raw") / 7)
        rest = tokens[1:] / np.linalg.norm(tokens[1:], axis=1)[:, None]
        assert value("resultant_length", "without_first") == pytest.approx(np.linalg.norm(rest.mean(axis=0)))
        received = np.random.default_rng([ord("b"), 2]).dirichlet(np.ones(9)) * 9
        assert value("first_token_attention_share", "all_tokens") == pytest.approx(received[0] / 9)

    def test_only_chosen_metrics(self):
        assert set(self.table(["stable_rank", "first_token_norm"])["metric"]) == {"stable_rank", "first_token_norm"}

    def test_one_token_review_is_nan_not_an_error(self):
        tokens = np.ones((1, 7))
        place = {"review_id": "a", "point": "residual_stream", "layer": 1, "n_tokens": 1, "width": 7}
        values = singular_values(tokens, ("raw", "raw_without_first"))
        spectra = [{**place, "view": view, "singular_values": of_view.tolist()} for view, of_view in values.items()]
        geometry = table_of([{**place, **token_geometry(tokens)}], GEOMETRY_SCHEMA)
        table = metrics_of_reviews(table_of(spectra, SPECTRA_SCHEMA), geometry, None, self.everything)
        values = {(row["view"], row["metric"]): row["value"] for row in table.to_dicts()}
        assert values["raw", "effective_rank"] == 1
        assert math.isnan(values["raw_without_first", "effective_rank"])
        assert math.isnan(values["without_first", "cosine_anisotropy"])

    def test_depth_is_that_of_the_files(self):
        spectra, geometry = spectra_of(n_blocks=4), geometry_of(n_blocks=4)
        table = metrics_of_reviews(spectra, geometry, None, self.everything)
        assert dict(table.select("layer", "depth").unique().rows()) == {0: 0.0, 2: 0.5}


@pytest.fixture
def files(tmp_path):
    """Two shards of one job, of which review b is not accepted."""
    made = {"spectra": spectra_of, "geometry": geometry_of, "attention": attention_of}
    paths = {name: written(tmp_path, measure(("c",)), measure(("a", "b"))) for name, measure in made.items()}
    return paths | {"similarity": accepted("a", "c")}


def test_jobs_follow_one_another(files):
    metrics = ["stable_rank", "first_token_norm", "first_token_attention_share"]
    parts = [
        metrics_of_reviews(spectra_of(review), geometry_of(review), attention_of(review), metrics) for review in "ca"
    ]
    assert_frame_equal(tabulate(**files, metrics=metrics), pl.concat(parts), check_exact=True)


def test_attention_that_was_not_recorded(files):
    chosen = files | {"attention": None}
    table = tabulate(**chosen, metrics=["stable_rank", "first_token_attention_share"])
    assert set(table["metric"]) == {"stable_rank"}
    assert set(table["review_id"]) == {"a", "c"}
