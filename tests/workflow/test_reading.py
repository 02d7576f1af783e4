"""The results of the small run as `open_results` gives them: tables, meanings, texts, states, the line to cite."""

import os
import re

import numpy as np
import polars as pl
import pytest

from homogenization import open_results, to_latex
from homogenization.reading.citation import provenance
from homogenization.reading.results import Results
from homogenization.run.errors import HomogenizationError
from homogenization.states.store import open_store


@pytest.fixture(scope="module")
def results(finished_run) -> Results:
    return open_results(finished_run / "results")


def test_the_original_stands_beside_each_text(results):
    texts = results.texts
    original, front = texts.filter(variant="original"), texts.filter(variant="front")
    assert (original["original"] == original["text"]).all()
    assert front["accepted"].all()
    assert sorted(front["original"]) == sorted(original["text"])


def test_a_curve_and_differences_mix_no_views_and_no_points(results):
    name = "effective_rank"
    curve = results.curve(name, view="raw")
    assert curve.select("model", "variant", "layer").is_unique().all()
    (ours,) = curve.filter(variant="front", layer=3)["mean"]
    changed = results.differences("front", "original", name, view="raw")
    assert changed["value"].mean() == pytest.approx(ours)
    assert changed["difference"].abs().is_sorted(descending=True)
    texts = results.texts.filter(variant="front")
    assert dict(changed.select("review_id", "text").rows()) == dict(texts.select("review_id", "text").rows())
    values = results.table("metrics").filter(view="raw", point="residual_stream", layer=3)
    own = dict(values.filter(variant="original").select("review_id", name).rows())
    assert dict(changed.select("review_id", "value_minus").rows()) == own


def test_contrasts_are_those_of_the_table_at_the_output_or_over_a_part_of_the_depth(results):
    table = results.table("contrasts").filter(metric="resultant_length", view="all_tokens", point="residual_stream")
    for at, rows in (("output", table.filter(layer=3)), ("last", table.filter(layers="last"))):
        found = results.contrasts("resultant_length", view="all_tokens", at=at)
        assert found.drop("share").equals(rows.select(found.drop("share").columns))


def test_contrasts_become_a_table_of_latex():
    rows = {"model": ["a_b"], "variant": ["front"], "minus": ["x & y"], "n_reviews": [60], "mean": [-0.0123456]}
    rows |= {"ci_low": [-0.02], "ci_high": [1.5e-5], "share": [-0.031], "p_max_t": [None], "verdict": ["lower"]}
    line = r"a\_b & front & x \& y & 60 & $-0.0123$ & $-0.02$ & $1.5e-05$ & $-0.031$ &  & lower \\"
    assert line in to_latex(pl.DataFrame(rows)).splitlines()


def test_states_are_those_of_the_store_and_tokens_are_those_of_the_text(results):
    changed = results.texts.filter(pl.col("text") != pl.col("original"))
    variant, review, shard, read = changed.select("variant", "review_id", "shard", "text").row(-1)
    states = results.states("tiny", variant, review)
    assert states.text == read
    with open_store(results.folder / f"states/tiny/{variant}/{shard}.zarr.zip") as store:
        index = store.review_ids.index(review)
        span = slice(store.review_offsets[index], store.review_offsets[index + 1])
        assert states.layers == store.layers == [0, 1, 2, 3]
        for place, layer in enumerate(states.layers):
            np.testing.assert_array_equal(states.residual_stream[place], store.residual_stream(layer)[span])
        np.testing.assert_array_equal(states.final_norm, store.final_norm()[span])
        np.testing.assert_array_equal(states.tokens["token_id"], store.token_ids[span])
    n_tokens = states.tokens.height
    np.testing.assert_allclose(states.attention_received.mean(axis=1), 1, rtol=1e-5)
    assert states.tokens["position"].to_list() == list(range(n_tokens))
    assert states.tokens["token"][0] == ""  # BOS
    assert "".join(states.tokens["token"]).replace(" ", "") == re.sub(r"\s", "", states.text)


def test_what_another_study_left_is_not_read_and_states_that_were_not_kept_name_the_key(finished, results):
    left = open_results(finished.folder / "results")
    for shard in (left.folder / "corpus/001.parquet", *left.folder.glob("variants/*/001.parquet")):
        shard.with_stem("002").write_bytes(shard.read_bytes())
    table = left.folder / "tables/training.parquet"
    table.touch()
    assert left.tables == sorted([*results.tables, "training"])  # it is newer than the report
    os.utime(table, (0, 0))
    assert left.tables == results.tables
    assert left.texts.equals(results.texts)
    for store in left.folder.glob("states/**/*.zarr.zip"):
        store.unlink()
    with pytest.raises(HomogenizationError, match=r"`states\.keep: false`.*Set `states\.keep: true`"):
        left.states("tiny", "original", left.texts["review_id"][0])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda results: results.states("large", "front", ""), r"has no model 'large'\. It has tiny\."),
        (lambda results: results.curve("effective_rank"), r"there are several views; name one: .*raw"),
        (lambda results: results.curve("erank"), "no metric 'erank' .did you mean 'effective_rank'"),
        (lambda results: results.table("contrast"), r"'contrast' \(did you mean 'contrasts'\?\)\. It has .*metrics"),
        (lambda results: open_results("absent"), r"absent: no tables of a study; .*`results` \(none below it\)"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(results, in_project, ask, said):
    with pytest.raises(HomogenizationError, match=said):
        ask(results)


def test_the_line_to_cite_is_that_of_the_report(finished):
    """It has a hash of the configuration."""
    finished.edit("results/origin.json", '"token-homogenization ', '"then token-homogenization ')
    cited = r"then token-homogenization .*; configuration [0-9a-f]{16}; reviews: 12, models: 1, variants: 2"
    assert re.fullmatch(cited, open_results(finished.folder / "results").citation())
    assert provenance({"seed": 0})["digest"] != provenance({"seed": 1})["digest"]
