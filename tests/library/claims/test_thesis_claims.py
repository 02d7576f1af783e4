"""Claims in the convention of the thesis, from the table of pooled tokens."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from examples import example_table
from homogenization.names.verdicts import NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA
from library.statistics.shared import (
    CONFIDENCE,
    N_BLOCKS,
    claim_of,
    component_changes,
    component_rows,
    evidence_of,
    judged,
    metric_rows,
    noise,
)


class TestThesis:
    def pooled(self, heights, variant="original", output=None):
        """A pool for each height: a profile that peaks in the middle; the state after the final norm is `output`."""
        rows = []
        for shard, height in enumerate(heights):
            profile = height - np.abs(np.arange(N_BLOCKS + 1) - N_BLOCKS / 2) / N_BLOCKS
            for layer, value in enumerate(profile):
                rows.append((f"{shard:03d}", layer, "residual_stream", layer / N_BLOCKS, value))
            if output is not None:
                rows.append((f"{shard:03d}", N_BLOCKS, "final_norm", 1.0, output + 0.01 * shard))
        names = {"model": "m", "variant": variant, "view": "pooled_centred", "metric": "max_explainable_variance"}
        columns = dict(zip(("shard", "layer", "point", "depth", "value"), zip(*rows, strict=True), strict=True))
        return example_table(POOLED_METRICS_SCHEMA, **names, **columns)

    def row(self, pooled, **measured):
        evidence = evidence_of(metric_rows(noise(0)), pooled=pooled)
        return judged([claim_of(convention="thesis", **measured)], evidence).row(0, named=True)

    def test_pools_are_replicates_with_students_interval(self):
        heights = np.array([0.84, 0.85, 0.86, 0.85])
        level = {"metric": "max_explainable_variance", "layers": "input"}
        row = self.row(self.pooled(heights), level=level, between=[0.3, 0.4])
        assert (row["claim"], row["convention"], row["unit"], row["n_reviews"]) == ("c-thesis", "thesis", "pools", 4)
        low, high = stats.t.interval(CONFIDENCE, 3, 0.35, stats.sem(heights))
        assert (row["estimate"], row["ci_low"], row["ci_high"]) == pytest.approx((0.35, low, high))
        assert row["verdict"] == SUPPORTED
        assert np.isnan([row["p_value"], row["robust"]]).all()

    def test_the_output_is_that_after_the_final_norm(self):
        level = {"metric": "max_explainable_variance", "layers": "output"}
        row = self.row(self.pooled([0.85, 0.86], output=0.2), level=level, above=0)
        assert row["estimate"] == pytest.approx(0.205)

    def test_a_peak_has_a_depth_and_a_height(self):
        pooled = self.pooled([0.84, 0.86], output=0.2)
        peak = {"metric": "max_explainable_variance"}
        depth = self.row(pooled, peak=peak, between=[0.25, 0.75])
        assert (depth["estimate"], depth["ci_low"], depth["ci_high"], depth["verdict"]) == (0.5, 0.5, 0.5, SUPPORTED)
        height = self.row(pooled, peak=peak | {"of": "height"}, between=[0.8, 0.9])
        assert (height["estimate"], height["ci_low"], height["ci_high"]) == pytest.approx((0.85, 0.84, 0.86))

    def test_a_contrast_is_paired_by_pool_and_a_share_of_the_pooled_depth(self):
        heights = np.array([0.8, 0.85, 0.9])
        pooled = pl.concat([self.pooled(heights), self.pooled(np.array([0.9, 0.96, 0.99]), "front")])
        evidence = evidence_of(metric_rows(noise(0)), metric_rows(noise(1), variant="front"), pooled=pooled)
        contrast = {"metric": "max_explainable_variance", "variant": "front", "minus": "original"}
        row = judged([claim_of(convention="thesis", contrast=contrast, above=0)], evidence).row(0, named=True)
        assert (row["estimate"], row["relative_effect"]) == pytest.approx((0.1, 0.2))
        assert row["verdict"] == SUPPORTED

    @pytest.mark.parametrize(
        "measured",
        [
            {"level": {"metric": "max_explainable_variance"}, "above": 0},
            {"peak": {"metric": "max_explainable_variance"}, "between": [0.25, 0.75]},
            {"steepest": {"metric": "max_explainable_variance"}, "between": [0.25, 0.75]},
        ],
    )
    def test_one_pool_has_no_interval_and_decides_nothing(self, measured):
        row = self.row(self.pooled([0.85]), **measured)
        assert (row["verdict"], row["reason"]) == (UNDECIDED, "one pool of texts has no interval")
        assert np.isfinite(row["estimate"])
        assert np.isnan(row["ci_low"])

    def test_components_have_their_centred_view(self):
        evidence = evidence_of(components=component_rows(component_changes(), view="centred"))
        component = {"metric": "cosine_anisotropy", "largest": ["residual", "attention"]}
        row = judged([claim_of(convention="thesis", component=component)], evidence).row(0, named=True)
        assert (row["verdict"], row["unit"]) == (SUPPORTED, "reviews")
        assert judged([claim_of(component=component)], evidence)["verdict"].item() == NOT_TESTED

    def test_without_pooled_tokens(self):
        row = self.row(None, slope={"metric": "max_explainable_variance"}, above=0)
        assert (row["verdict"], row["reason"]) == (NOT_TESTED, "the study does not pool the tokens of its texts")
