"""Texts that did not change: no estimate, interval, p or verdict of a comparison knows that they exist."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from examples import example_table
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.consequences.schemas import POOLED_READINGS_SCHEMA
from homogenization.interventions.schemas import DOSES_SCHEMA
from homogenization.names.verdicts import NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.statistics.contrasts import contrast_table
from homogenization.statistics.pooled_states import probes_table
from homogenization.statistics.resampling import Resampling
from homogenization.tables.balance import balance_table
from homogenization.tables.comparisons import comparisons_table
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA
from library.statistics.shared import (
    CONFIDENCE,
    MARGIN,
    MIN_REVIEWS,
    N_REVIEWS,
    RANK,
    claim_of,
    evidence_of,
    judged,
    metric_rows,
    noise,
    similarity_rows,
)

DRAWS, SEED = 200, 0
MOVED = noise(1) - 0.001  # of each review, were all changed: far within the margin
ORIGINAL = np.arange(9.0) + noise(0)
PAIRS = [("front", "original"), ("original", "front"), ("front", "inward")]


def texts(variant, changed):
    """The table similarity of a variant in which these reviews changed, each to a text of its own."""
    hashes = [f"{variant}-{number}" if one else f"same-{number}" for number, one in enumerate(changed)]
    rows = similarity_rows(np.where(changed, 0.95, 1.0), variant)
    return rows.with_columns(changed=pl.Series(np.asarray(changed)), words_hash=pl.Series(hashes))


def values(changed):
    """Rows of metrics of three texts of each review: `inward` is as the original, `front` where it did not change."""
    front = np.where(np.asarray(changed)[:, None], ORIGINAL + MOVED, ORIGINAL)
    named = {"original": ORIGINAL, "front": front, "inward": ORIGINAL}
    return pl.concat([metric_rows(rows, variant=name) for name, rows in named.items()])


def contrasts(metrics, similarity, min_reviews=1):
    comparisons = comparisons_table(similarity, PAIRS, N_REVIEWS, min_reviews)
    resampling = Resampling(DRAWS, CONFIDENCE, SEED, MARGIN)
    return contrast_table(metrics, comparisons, similarity, [RANK], resampling)


def study(changed):
    similarity = pl.concat([texts("front", changed), texts("inward", np.zeros(N_REVIEWS, bool))])
    return values(changed), similarity


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=N_REVIEWS, max_size=N_REVIEWS))
def test_they_never_change_an_estimate(changed):
    """A contrast is, to the last digit, that of a study whose front has the changed texts alone."""
    metrics, similarity = study(changed)
    found = contrasts(metrics, similarity)
    names = [f"r{number:03d}" for number in np.flatnonzero(changed)]
    of_changed = pl.col("review_id").is_in(names)
    alone = metrics.filter(of_changed | (pl.col("variant") == "original"))  # all originals make the yardstick
    expected = contrasts(alone, similarity.filter(of_changed))
    as_told = ["reason", "share_changed"]
    assert_frame_equal(found.drop(as_told), expected.drop(as_told), check_exact=True)
    assert found["share_changed"].unique().to_list() == [pytest.approx(np.mean(changed))]
    assert set(found["n_reviews"]) == {sum(changed)}


def test_where_all_texts_change_nothing_is_other_than_without_the_knowledge():
    metrics, similarity = study(np.ones(N_REVIEWS, bool))
    unknown = similarity.with_columns(changed=pl.lit(None, pl.Boolean), words_hash=pl.lit(None, pl.String))
    known, blind = contrasts(metrics, similarity), contrasts(metrics, unknown)
    front = pl.col("variant").is_in(["front", "original"])
    assert_frame_equal(known.filter(front), blind.filter(front), check_exact=True)
    assert set(known["share_changed"]) == {1.0}


@pytest.mark.parametrize(("n_changed", "tested"), [(MIN_REVIEWS - 1, False), (MIN_REVIEWS, True), (16, True)])
def test_nothing_is_negligible_because_nothing_was_moved(n_changed, tested):
    """Of 30 texts, few changed by nearly nothing: 9 have no verdict, and 10 are too few to call it negligible."""
    metrics, similarity = study(np.arange(N_REVIEWS) < n_changed)
    table = contrasts(metrics, similarity, MIN_REVIEWS)
    assert set(table["verdict"] == NOT_TESTED) == {not tested}
    contrast = {"metric": RANK, "variant": "front", "minus": "original"}
    claims = [
        claim_of("contrast", contrast=contrast, above=0),
        claim_of("control", contrast=contrast | {"minus": "inward"}, above=0),
        claim_of("slope", slope={"metric": RANK, "variant": "front"}, above=0),
    ]
    rows = judged(claims, evidence_of(metrics, similarity=similarity, draws=DRAWS))
    assert dict(rows.schema) == CLAIMS_SCHEMA
    first, control, slope = rows.iter_rows(named=True)
    assert slope["verdict"] == SUPPORTED  # of one text, not of a comparison
    assert np.isnan(slope["share_changed"])
    if tested:
        assert first["estimate"] == pytest.approx(MOVED[:n_changed].mean())
        assert first["verdict"] == (NEGLIGIBLE if n_changed >= 16 else UNDECIDED)
        assert [row["n_reviews"] for row in (first, control)] == [n_changed] * 2
        assert [row["share_changed"] for row in (first, control)] == [pytest.approx(n_changed / 30)] * 2
    else:
        cure = "Longer texts, keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more"
        of_front = f"21 of 30 texts are as the original; at least 10 have to differ. {cure}"
        of_both = f"21 of 30 texts are the same in both; at least 10 have to differ. {cure}"
        assert [row["reason"] for row in (first, control)] == [of_front, of_both]
        assert {row["verdict"] for row in (first, control)} == {NOT_TESTED}
        assert table.select("variant", "minus", "reason").unique(maintain_order=True).sort("minus").rows() == [
            ("original", "front", of_front),
            ("front", "inward", of_both),
            ("front", "original", of_front),
        ]


@pytest.mark.parametrize(("n_changed", "tested"), [(26, False), (27, True)])
def test_pooled_tokens_are_compared_where_nine_in_ten_texts_differ(n_changed, tested):
    names = {"model": "m", "view": "pooled_centred", "metric": RANK, "point": "residual_stream"}
    names |= {"layer": 1, "depth": 1.0, "shard": ["000", "001", "002"]}
    pooled = [
        example_table(POOLED_METRICS_SCHEMA, **names, variant=variant, value=heights)
        for variant, heights in (("original", [0.5, 0.6, 0.7]), ("front", [0.8, 0.91, 1.0]))
    ]
    similarity = texts("front", np.arange(N_REVIEWS) < n_changed)
    evidence = evidence_of(values(np.ones(N_REVIEWS, bool)), similarity=similarity, pooled=pl.concat(pooled))
    contrast = {"metric": RANK, "variant": "front", "minus": "original"}
    (row,) = judged([claim_of(convention="thesis", contrast=contrast, above=0)], evidence).iter_rows(named=True)
    assert (row["verdict"] == NOT_TESTED) == (not tested)
    if not tested:
        assert "4 of 30 texts are as the original; of all texts together, at least 90 %" in row["reason"]
    assert np.isnan(row["share_changed"])


def readings(column, **levels):
    schema = POOLED_READINGS_SCHEMA | {name: DOSES_SCHEMA[name] for name in ("kind", "pattern", "blocks", "strength")}
    numbers = dict.fromkeys(list(POOLED_READINGS_SCHEMA)[6:], np.nan)
    told = {"model": "m", "condition": "", "layer": 0, "depth": 0.0, "kind": "untouched", "blocks": "all"}
    reviews = [f"r{number:03d}" for number in range(N_REVIEWS)]
    return pl.concat(
        example_table(schema, **told, review_id=reviews, variant=text, **numbers | {column: level})
        for text, level in levels.items()
    )


def test_probes_are_over_the_texts_that_differ():
    """A third of the texts changed, and lost .3 nats; the others are the original."""
    changed = np.arange(N_REVIEWS) < 10
    similarity = pl.concat([texts("front", changed), texts("inward", np.arange(N_REVIEWS) < 5)])
    losses = readings("log_loss", original=np.full(30, 0.5), front=0.5 + 0.3 * changed, inward=np.full(30, 0.5))
    probes = probes_table(losses, similarity, {"front": {"edge": "inward"}}, Resampling(DRAWS, CONFIDENCE, SEED))
    found = {(row["variant"], row["minus"]): row for row in probes.iter_rows(named=True)}
    assert found["front", "original"]["estimate"] == pytest.approx(0.3)
    assert [found["front", minus]["n_reviews"] for minus in (None, "original", "inward")] == [30, 10, 10]
    assert found["front", None]["estimate"] == pytest.approx(0.6)  # a level is that of all texts


def test_balance_is_over_the_texts_that_differ():
    changed = np.arange(N_REVIEWS) < 12
    similarity = pl.concat([texts("front", changed), texts("inward", np.zeros(N_REVIEWS, bool))])
    moved = [("front", 0.5), ("inward", 0.0)]
    rows = [
        (variant, f"r{number:03d}", None, "displacement", size * changed[number])
        for variant, size in moved
        for number in range(N_REVIEWS)
    ]
    schema = {"variant": pl.String, "review_id": pl.String, "model": pl.String, "covariate": pl.String}
    covariates = pl.DataFrame(rows, schema=schema | {"value": pl.Float64}, orient="row")
    table = balance_table(covariates, similarity, [("front", "inward", "edge")], 0.25)
    assert table.select("mean", "mean_control", "n_reviews").rows() == [(0.5, 0.0, 12)]
