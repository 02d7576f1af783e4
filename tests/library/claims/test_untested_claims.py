"""Claims that cannot be tested say what is missing."""

import re

import numpy as np
import polars as pl
import pytest

from homogenization.names.verdicts import NOT_TESTED
from library.statistics.shared import (
    COSINE,
    N_BLOCKS,
    N_REVIEWS,
    NORM,
    RANK,
    claim_of,
    component_rows,
    evidence_of,
    judged,
    metric_rows,
    noise,
    similarity_rows,
)


class TestNotTested:
    @pytest.mark.parametrize(
        ("measured", "reason"),
        [
            ({"level": {"metric": "alpha_req"}, "above": 0}, "no metric alpha_req"),
            ({"level": {"metric": RANK, "variant": "front"}, "above": 0}, "no variant 'front'"),
            ({"contrast": {"metric": RANK, "variant": "original", "minus": "end"}, "above": 0}, "no variant 'end'"),
            ({"slope": {"metric": RANK, "view": "unit"}, "above": 0}, f"no view 'unit' of {RANK}"),
            ({"level": {"metric": RANK, "point": "final_norm"}, "above": 0}, f"no values of {RANK} at final_norm"),
            ({"level": {"metric": NORM, "layers": "input"}, "above": 0}, f"no values of {NORM} at the layers 'input'"),
            ({"level": {"metric": "schatten_1"}, "above": 0}, "schatten_1 is undefined in every review"),
            ({"steepest": {"metric": NORM}, "above": 0}, f"{NORM} moves towards homogenization between no two layers"),
            ({"correlation": {"metric": RANK, "with_metric": "alpha_req"}, "above": 0}, "no metric alpha_req"),
            ({"correlation": {"metric": COSINE, "with_metric": "schatten_2"}, "above": 0}, "at the same layer"),
            ({"correlation": {"metric": RANK, "with_metric": NORM}, "above": 0}, "no view 'raw_without_first'"),
            (
                {"contrast": {"metric": RANK, "variant": "original", "minus": "key control"}, "above": 0},
                "no key control of",
            ),
            ({"component": {"metric": "cosine_anisotropy", "largest": ["norm"]}}, "takes no blocks apart"),
            ({"similarity": {"variant": "end"}, "above": 0}, "no similarity of a variant 'end'"),
        ],
    )
    def test_says_what_is_missing(self, measured, reason):
        first = metric_rows(noise(0)).filter(pl.col("layer") == 0)
        cosines = [metric_rows(noise(2), COSINE, view) for view in ("all_tokens", "without_first")]
        evidence = evidence_of(
            first,
            *(rows.filter(pl.col("layer") == 0) for rows in cosines),
            metric_rows(noise(1), "schatten_2").filter(pl.col("layer") == 1),
            metric_rows(np.full((N_REVIEWS, N_BLOCKS + 1), np.nan), "schatten_1"),
            metric_rows(np.ones((N_REVIEWS, N_BLOCKS + 1)), NORM, "all_tokens").filter(pl.col("layer") > 0),
        )
        row = judged([claim_of(**measured)], evidence).row(0, named=True)
        assert row["verdict"] == NOT_TESTED
        assert reason in row["reason"]
        assert row["n_reviews"] == 0
        assert np.isnan([row[name] for name in ("estimate", "ci_low", "ci_high", "p_value", "p_max_t")]).all()

    def test_a_model_whose_blocks_were_not_taken_apart(self):
        components = component_rows({"attention": noise(0), "norm_1": noise(1)}, model="a")
        evidence = evidence_of(components=components)
        claims = [claim_of(component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        table = judged(claims, evidence, ["a", "b"])
        assert table["reason"].is_null().to_list() == [True, False]
        assert "no blocks of this model" in table["reason"][1]

    @pytest.mark.parametrize(
        ("measured", "reason"),
        [
            (
                {"contrast": {"metric": RANK, "variant": "front", "minus": "original"}, "above": 0},
                "9 of 30 .* front;",
            ),
            (
                {"contrast": {"metric": RANK, "variant": "end", "minus": "front"}, "above": 0},
                "4 of 30 .* end and front",
            ),
            ({"slope": {"metric": RANK, "variant": "front"}, "above": 0}, "9 of 30 reviews accepted in front"),
            ({"level": {"metric": RANK, "variant": "lost"}, "above": 0}, "0 of 30 .* in lost; at least 10 are needed"),
            ({"contrast": {"metric": RANK, "variant": "end", "minus": "original"}, "above": 0}, None),
            ({"similarity": {"variant": "front"}, "above": 0}, None),
            ({"similarity": {"variant": "lost"}, "above": 0}, "no review was rewritten as 'lost'"),
            ({"level": {"metric": RANK}, "above": 0}, None),
        ],
    )
    def test_too_few_accepted_reviews(self, measured, reason):
        """9 reviews are accepted as front, 25 as end, 4 as both; none was rewritten as lost."""
        number = np.arange(N_REVIEWS)
        similarity = pl.concat(
            [
                similarity_rows(np.full(N_REVIEWS, 0.9), "front", pl.Series(number < 9)),
                similarity_rows(np.full(N_REVIEWS, 0.9), "end", pl.Series(number >= 5)),
            ]
        )
        metrics = [metric_rows(noise(n) + n, variant=name) for n, name in enumerate(("original", "front", "end"))]
        evidence = evidence_of(*metrics, similarity=similarity, variants=["original", "front", "end", "lost"])
        row = judged([claim_of(**measured)], evidence).row(0, named=True)
        assert (row["verdict"] == NOT_TESTED) == (reason is not None)
        if reason is not None:
            assert re.search(reason, row["reason"])
            assert np.isnan([row[name] for name in ("estimate", "ci_low", "p_value", "p_max_t")]).all()
