"""Whether what a pattern delivers tells its slope, from rows with known numbers."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from homogenization.interventions.schemas import ATTRIBUTION_NUMBERS, ATTRIBUTION_SCHEMA
from homogenization.statistics import causes_in_words
from homogenization.statistics.mechanism import (
    ATTRIBUTION_MEANS_SCHEMA,
    MECHANISM_SCHEMA,
    attribution_table,
    mechanism_table,
    tabulate,
)
from homogenization.statistics.predictions import PREDICTIONS_SCHEMA
from homogenization.statistics.resampling import Resampling
from library.statistics.shared import similarity_rows, words_of
from measured import written

N = 20
RESAMPLED = {"draws": 300, "confidence": 0.95, "seed": 0}
LEVEL = {"confidence": 0.95, "min_reviews": 6}
SETTINGS = {"resampling": Resampling(**RESAMPLED), "min_reviews": 6}
COSINES = np.array([-0.3, 0.2, 0.4, 0.1, -0.1])
SLOPES = np.array([-1.0, 2.0, 1.0, -0.5, -0.2])


def attribution_rows(noise=0.0, pattern="first", cosines=COSINES, slopes=SLOPES, model="m", branch_norm=False):
    """Rows of jobs: `predicted` is twice the cosine, the slope at the output minus that after the block."""
    generator = np.random.default_rng(0)
    means = {
        "cosine": cosines,
        "length": np.ones(len(cosines)),
        "predicted": 2 * cosines,
        "after_block": slopes,
        "at_output": -slopes,
    }
    review, block = (index.ravel() for index in np.indices((N, len(cosines))))
    columns = {"model": model, "variant": "original", "review_id": [f"r{number:03d}" for number in review]}
    columns |= {"block": block + 1, "pattern": pattern, "branch_norm": branch_norm}
    columns |= {
        name: means[name][block] + noise * generator.standard_normal(len(block)) for name in ATTRIBUTION_NUMBERS
    }
    return pl.DataFrame(columns, schema=ATTRIBUTION_SCHEMA)


def row_of(table, predictor, measured):
    return table.row(by_predicate=(pl.col("predictor") == predictor) & (pl.col("measured") == measured), named=True)


def test_blocks_are_compared_by_their_means():
    rows = attribution_rows(noise=0.5).sample(fraction=1, shuffle=True, seed=1)
    table = mechanism_table(rows, **SETTINGS)
    assert table.schema == pl.Schema(MECHANISM_SCHEMA)
    means = rows.group_by("block").agg(pl.col(ATTRIBUTION_NUMBERS).mean()).sort("block")
    for row in table.iter_rows(named=True):
        x, y = means[row["predictor"]].to_numpy(), means[row["measured"]].to_numpy()
        assert row["agreement"] == (np.sign(x) == np.sign(y)).mean()
        assert row["rank_correlation"] == pytest.approx(spearmanr(x, y).statistic)
        assert row["n_positive"] == (x > 0).sum()
        assert (row["n_reviews"], row["n_blocks"]) == (N, 5)
        for name in ("agreement", "rank_correlation"):
            assert -1 <= row[f"{name}_low"] <= row[f"{name}_high"] <= 1
    assert (table["rank_correlation_low"] < table["rank_correlation_high"]).all()


def test_without_noise_the_numbers_are_exact_and_a_review_without_a_block_is_left_out():
    rows = attribution_rows()
    rows = rows.with_columns(
        pl.when((pl.col("review_id") == "r003") & (pl.col("block") == 2))
        .then(np.nan)
        .otherwise("predicted")
        .alias("predicted")
    )
    table = mechanism_table(rows, **SETTINGS)
    after, output = (row_of(table, "cosine", measured) for measured in ("after_block", "at_output"))
    assert [after[f"agreement{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.8] * 3)
    assert output["agreement"] == pytest.approx(0.2)
    assert output["rank_correlation"] == pytest.approx(-after["rank_correlation"])
    assert row_of(table, "predicted", "after_block")["n_reviews"] == N - 1
    means = attribution_table(rows, **LEVEL)
    assert means.schema == pl.Schema(ATTRIBUTION_MEANS_SCHEMA)
    assert means["n_reviews"].to_list() == [N, N - 1, N, N, N]
    assert means["predicted"].to_list() == pytest.approx(2 * COSINES)
    assert means["cosine_low"].to_list() == means["cosine_high"].to_list()


def answer(mechanism, model="m"):
    """What the table of causes says of a model whose variants are not predicted."""
    nothing = pl.DataFrame(schema=PREDICTIONS_SCHEMA)
    return causes_in_words.tabulate(mechanism, nothing, [model], words_of("causes"))["answer"].item()


def test_the_sentence_says_what_the_numbers_say():
    table = mechanism_table(
        pl.concat([attribution_rows(), attribution_rows(pattern="second", slopes=-SLOPES)]), **SETTINGS
    )
    said = answer(table)
    assert "in 3 of 5 blocks; this is the sign of" in said
    assert "in 80 % [80 %, 80 %] of them right after the block and in 20 % [20 %, 20 %] at the output" in said
    assert "ranks blocks with a correlation of 0.8 [0.8, 0.8] and −0.8 [−0.8, −0.8]." in said
    assert answer(table.filter(pattern="second")) == answer(table, "other") == answer(table.clear())
    alone = mechanism_table(attribution_rows(cosines=COSINES[:1], slopes=SLOPES[:1]), **SETTINGS)
    assert answer(alone).endswith("at the output.")


def test_a_norm_behind_attention_and_too_few_reviews_are_said():
    said = answer(mechanism_table(attribution_rows(branch_norm=True), **SETTINGS))
    assert "slope of cosine anisotropy in 80 %" in said
    assert "undoes what removing attention does" in said
    few = attribution_rows().filter(pl.col("review_id") < "r004")
    table = mechanism_table(few, **SETTINGS)
    assert table["agreement"].is_nan().all()
    assert table["n_positive"].is_null().all()
    reason = "4 reviews have a value; at least 6 are needed"
    assert answer(table) == f"Whether what the first token delivers tells its slope is not tested: {reason}."
    means = attribution_table(few, **LEVEL)
    assert means.select("reason", "n_reviews").unique().rows() == [(reason, 4)]
    assert means["cosine"].is_nan().all()


def test_the_files_of_all_jobs_are_read(tmp_path):
    jobs = written(tmp_path, *(attribution_rows(noise=0.1, model=model) for model in "mn"))
    means, mechanism = tabulate(jobs, similarity_rows(np.ones(N)), 6, RESAMPLED)
    assert (len(means), len(mechanism)) == (2 * 5, 2 * 4)
