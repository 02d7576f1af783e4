"""The job of a shard in a condition: its tables, what the shortest reviews have, and what is refused."""

import numpy as np
import polars as pl
import pytest

from extracted import EMBEDDED, tiny
from homogenization.interventions.conditions import MASKED, METRICS, STEERING, UNTOUCHED, VIEWS, Condition, cells
from homogenization.interventions.readings import massive_tokens, pooled, read
from homogenization.interventions.schemas import SCHEMAS
from homogenization.run.parquet import read_table, write_table
from script import run_script
from tiny_models import CONFIGS

READ = ["cosine_anisotropy", "max_explainable_variance"]
FIRST = Condition(STEERING, "first", 0.1)


@pytest.fixture
def job(tmp_path):
    """Runs the script for the first of three reviews in one condition; returns its tables by name."""
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": EMBEDDED[:3], "rank": [0, 1, 2]})
    write_table(reviews, tmp_path / "variant.parquet")

    def run(entry, condition=FIRST, n_reviews=2):
        inputs = dict.fromkeys(("variant", "original"), str(tmp_path / "variant.parquet"))
        outputs = {name: str(tmp_path / f"{name}.out.parquet") for name in SCHEMAS}
        params = {"model": {"name": "tiny", **entry}, "metrics": READ, "seed": 0, "code": "1"}
        params |= {"variant": "original", "shard": "000", "n_reviews": n_reviews, "condition": vars(condition)}
        params["module"] = "interventions.intervened"
        run_script("measure_passes", tmp_path / "log", inputs, outputs, params)
        return [read_table(path) for path in outputs.values()]

    return run


def test_a_shard_has_a_row_for_all_that_is_asked(tmp_path, job):
    model = tiny(CONFIGS["llama"], head=True)
    for part in (model.network, model.tokenizer):
        part.save_pretrained(tmp_path / "llama")
    entry = {"weights": {"path": str(tmp_path / "llama")}, "dtype": "float32", "device": "cpu", "bos": "default"}
    metrics, doses, states = job(entry)
    assert [table.schema for table in (metrics, doses, states)] == [pl.Schema(schema) for schema in SCHEMAS.values()]
    assert doses["condition"].to_list() == ["steering-first-0.1-all"] * 2
    assert (len(metrics), len(states)) == (2 * 4 * 2 * len(VIEWS), 2 * 4)
    for table in (metrics, doses, states):
        assert table["review_id"].unique(maintain_order=True).to_list() == ["a", "b"]
        assert table.select("model", "variant").unique().rows() == [("tiny", "original")]
    assert (doses["kl"] > 0).all()
    for condition in (Condition(UNTOUCHED), Condition(MASKED, "massive")):
        same, nothing, _ = job(entry, condition)
        assert nothing.select("kl", "moved_mass").unique().rows() == [(0.0, 0.0)], "no token of this model is massive"
        assert same["value"].equals(metrics["untouched"])
    assert [table.height for table in job(entry, n_reviews=0)] == [0, 0, 0]


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_the_shortest_reviews_have_the_numbers_that_exist(n_tokens):
    states = np.random.default_rng(0).normal(size=(3, n_tokens, 9)).astype(np.float32)
    numbers = dict(zip(cells(METRICS), read(states, massive_tokens(states), METRICS).T, strict=True))
    assert np.isnan(numbers["all_tokens", "cosine_anisotropy"]).all() == (n_tokens == 1)
    assert np.isnan(numbers["without_first", "cosine_anisotropy"]).all()
    assert np.isfinite(numbers["all_tokens", "max_explainable_variance"]).all()
    assert np.isnan(pooled(states, ())).all() == (n_tokens == 1)
