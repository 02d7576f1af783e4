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
    judged_row,
    metric_rows,
    noise,
    similarity_rows,
)

NUMBERS = ("estimate", "ci_low", "ci_high", "p_value", "p_max_t")


@pytest.fixture(scope="module")
def lacking():
    """Two metrics at the input alone, one after it, one after the first block, and one that is undefined."""
    of_input = [
        metric_rows(noise(0)),
        *(metric_rows(noise(2), COSINE, view) for view in ("all_tokens", "without_first")),
    ]
    return evidence_of(
        *(rows.filter(pl.col("layer") == 0) for rows in of_input),
        metric_rows(noise(1), "participation_ratio").filter(pl.col("layer") == 1),
        metric_rows(np.full((N_REVIEWS, N_BLOCKS + 1), np.nan), "schatten_1_ratio"),
        metric_rows(np.ones((N_REVIEWS, N_BLOCKS + 1)), NORM, "all_tokens").filter(pl.col("layer") > 0),
    )


@pytest.mark.parametrize(
    ("statistic", "keys", "reason"),
    [
        ("slope", {"metric": "effective_rank"}, "no metric effective_rank"),
        ("slope", {"metric": RANK, "variant": "front"}, "no variant 'front'"),
        ("contrast", {"metric": RANK, "variant": "original", "minus": "end"}, "no variant 'end'"),
        ("slope", {"metric": RANK, "view": "unit"}, f"no view 'unit' of {RANK}"),
        ("slope", {"metric": "schatten_1_ratio"}, "schatten_1_ratio is undefined in every review"),
        ("steepest", {"metric": NORM}, f"{NORM} moves towards homogenization between no two layers"),
        ("correlation", {"metric": RANK, "with_metric": "effective_rank"}, "no metric effective_rank"),
        ("correlation", {"metric": COSINE, "with_metric": "participation_ratio"}, "at the same layer"),
        ("correlation", {"metric": RANK, "with_metric": NORM}, "no view 'raw_without_first'"),
        ("contrast", {"metric": RANK, "variant": "original", "minus": "key control"}, "no key control of"),
        ("component", {"metric": "cosine_anisotropy", "largest": ["norm"]}, "takes no blocks apart"),
    ],
)
def test_what_is_missing(lacking, statistic, keys, reason):
    row = judged_row(lacking, **{statistic: keys}, **({} if statistic == "component" else {"above": 0}))
    assert (row["verdict"], row["n_reviews"]) == (NOT_TESTED, 0)
    assert reason in row["reason"]
    assert np.isnan([row[name] for name in NUMBERS]).all()


def test_a_model_whose_blocks_were_not_taken_apart():
    evidence = evidence_of(components=component_rows({"attention": noise(0), "norm_1": noise(1)}, model="a"))
    claims = [claim_of(component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
    table = judged(claims, evidence, ["a", "b"])
    assert table["reason"].is_null().to_list() == [True, False]
    assert "no blocks of this model" in table["reason"][1]


@pytest.fixture(scope="module")
def few():
    """9 reviews are accepted as front, 25 as end, 4 as both; none was rewritten as lost."""
    number, f1 = np.arange(N_REVIEWS), np.full(N_REVIEWS, 0.9)
    accepted = {"front": number < 9, "end": number >= 5}
    similarity = pl.concat(similarity_rows(f1, name, pl.Series(of)) for name, of in accepted.items())
    metrics = [metric_rows(noise(n) + n, variant=name) for n, name in enumerate(("original", "front", "end"))]
    return evidence_of(*metrics, similarity=similarity, variants=["original", "front", "end", "lost"])


@pytest.mark.parametrize(
    ("statistic", "keys", "reason"),
    [
        ("contrast", {"metric": RANK, "variant": "front", "minus": "original"}, "9 of 30 reviews accepted;"),
        ("contrast", {"metric": RANK, "variant": "end", "minus": "front"}, "4 of 30 reviews accepted in both;"),
        ("slope", {"metric": RANK, "variant": "front"}, "9 of 30 reviews accepted"),
        ("slope", {"metric": RANK, "variant": "lost"}, "0 of 30 reviews accepted; at least 10 are needed"),
        ("contrast", {"metric": RANK, "variant": "end", "minus": "original"}, None),
        ("slope", {"metric": RANK}, None),
    ],
)
def test_too_few_accepted_reviews(few, statistic, keys, reason):
    row = judged_row(few, **{statistic: keys}, above=0)
    assert (row["verdict"] == NOT_TESTED) == (reason is not None)
    assert np.isnan([row[name] for name in ("estimate", "ci_low")]).any() == (reason is not None)
    assert reason is None or (re.search(reason, row["reason"]) and np.isnan([row[name] for name in NUMBERS]).all())
