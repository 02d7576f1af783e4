"""The job of a shard in a condition: its tables, and what is refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file
from tqdm import tqdm

from homogenization.interventions import shard
from homogenization.interventions.conditions import (
    CONSTANT,
    MASKED,
    METRICS,
    POSITIONS,
    STEERING,
    UNTOUCHED,
    VIEWS,
    Condition,
    cells,
)
from homogenization.interventions.readings import massive_tokens, read
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA, POOLED_STATES_SCHEMA
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.metrics.spectral import SpectrumBatch, evaluate
from homogenization.run.parquet import read_table, write_table
from script import ScriptError, run_script
from tiny_blocks import EMBEDDED, saved, trained_tokenizer

READ = ["cosine_anisotropy", "max_explainable_variance"]
SCHEMAS = INTERVENED_SCHEMA, DOSES_SCHEMA, POOLED_STATES_SCHEMA
FIRST = Condition(STEERING, "first", 0.1)


@pytest.fixture
def save(tmp_path):
    """Saves a tiny language model and its tokenizer; returns the entry of `models`."""
    return lambda name="llama", head=True, **fields: saved(tmp_path / f"{name}{head}", name, head, **fields)


@pytest.fixture
def job(tmp_path):
    """Runs the script for three reviews in one condition; returns its tables metrics, doses and pooled states."""
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": EMBEDDED[:3], "rank": [0, 1, 2]})
    write_table(reviews, tmp_path / "variant.parquet")

    def run(entry, condition=FIRST, n_reviews=2, depth=None):
        inputs = {name: str(tmp_path / "variant.parquet") for name in ("variant", "original")}
        if depth is not None:
            write_table(depth, tmp_path / "depth.parquet")
            inputs["depth"] = str(tmp_path / "depth.parquet")
        outputs = {name: str(tmp_path / f"{name}.out.parquet") for name in ("metrics", "doses", "states")}
        params = {"model": {"name": "tiny", "max_tokens": None, **entry}, "metrics": READ}
        params |= {"variant": "original", "shard": "000", "n_reviews": n_reviews, "condition": condition.fields}
        run_script("read_in_condition", tmp_path / "log", inputs, outputs, params | {"seed": 0, "code": "1"})
        return [read_table(path) for path in outputs.values()]

    return run


def test_a_shard_has_a_row_for_all_that_is_asked(save, job, tmp_path):
    entry = save()
    metrics, doses, states = job(entry)
    told, n_tokens = (tmp_path / "log").read_text(), tqdm.format_sizeof(doses["n_tokens"].sum())
    assert f"{n_tokens}/{n_tokens}" in told, "the log counts the tokens"
    assert [table.schema for table in (metrics, doses, states)] == [pl.Schema(schema) for schema in SCHEMAS]
    assert doses["condition"].to_list() == ["steering-first-0.1-all"] * 2
    assert len(metrics) == 2 * 4 * 2 * len(VIEWS)
    assert len(states) == 2 * 4
    for table in (metrics, doses, states):
        assert table["review_id"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert (doses["kl"] > 0).all()
    at_start = metrics.filter(layer=0)
    assert at_start["value"].equals(at_start["untouched"]), "nothing has changed before the first block"
    removed = job(entry, Condition(STEERING, "removed", 0.1))[1]
    assert removed["moved_mass"].to_list() == pytest.approx([0.05] * 2)
    for condition in (Condition(UNTOUCHED), Condition(MASKED, "massive")):
        same, nothing, _ = job(entry, condition)
        assert nothing.select("kl", "moved_mass").unique().rows() == [(0.0, 0.0)], "no token of this model is massive"
        assert same["value"].equals(metrics["untouched"])


def test_an_encoder_has_no_damage(save, job):
    metrics, doses, states = job(save("bert", head=False))
    assert doses["kl"].null_count() == doses["cross_entropy"].null_count() == len(doses)
    assert (doses["moved_mass"] > 0).all()
    assert metrics["value"].is_finite().all()
    assert len(states) == 2 * 4


def test_the_steepest_blocks_come_from_the_depth_table(save, job):
    row = {"model": "tiny", "variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy"}
    depth = pl.DataFrame([row | {"statistic": "steepest", "estimate": 0.5, "ci_low": 1 / 3, "ci_high": 2 / 3}])
    entry = save()
    steepest, second = (Condition(STEERING, "first", 0.1, blocks) for blocks in ("steepest", "2"))
    assert job(entry, steepest, depth=depth)[0]["value"].equals(job(entry, second)[0]["value"])
    with pytest.raises(ScriptError, match=r"'steepest' has no meaning for the model tiny"):
        job(entry, steepest, depth=depth.with_columns(estimate=float("nan")))


@pytest.mark.parametrize(
    ("name", "head", "condition", "said"),
    [
        (
            "gpt2",
            True,
            Condition(POSITIONS, CONSTANT),
            r"positions: the model tiny \(GPT2Model\) has no rotary positions",
        ),
        ("bert", False, Condition(POSITIONS, CONSTANT), r"\(BertModel\) has no rotary positions"),
        (
            "llama",
            True,
            Condition(STEERING, "first", 0.1, "4"),
            r"blocks: '4' names blocks that the model tiny does not have; it has 3",
        ),
        (
            "llama",
            False,
            FIRST,
            r"lack 1 tensors of LlamaForCausalLM, such as lm_head.weight.*tie_word_embeddings: true",
        ),
    ],
)
def test_what_a_model_can_not_do_is_refused_before_it_runs(save, job, monkeypatch, name, head, condition, said):
    monkeypatch.setattr(shard, "intervene", None)
    with pytest.raises(ScriptError, match=said):
        job(save(name, head=head), condition)


def test_numbers_of_states_are_those_of_the_measures():
    """One review: two massive tokens beside the first leave `without_first`, all else is as in tables of metrics."""
    states = np.random.default_rng(0).normal(size=(3, 23, 9)).astype(np.float32)
    states[1:, [0, 5, 11]] *= 40
    massive = massive_tokens(states)
    assert massive == {0, 5, 11}
    assert massive_tokens(states[[1, 0]]) == frozenset()
    for metric in METRICS:
        values = read(states, massive, [metric])
        for cell, view in enumerate(VIEWS if metric != "cosine_to_first_token" else VIEWS[:1]):
            for layer, tokens in enumerate(states.astype(np.float64)):
                rows = {
                    "all_tokens": tokens,
                    "without_first": np.delete(tokens, [0, 5, 11], axis=0),
                    "centred": tokens - tokens.mean(axis=0),
                    "after_quarter": tokens[6:],
                }[view]
                geometry = token_geometry(rows)
                if metric == "cosine_anisotropy":
                    n = len(rows)
                    expected = (n * geometry["resultant_length"] ** 2 - 1) / (n - 1)
                elif metric == "cosine_to_first_token":
                    expected = geometry["cosine_to_first"]
                else:
                    spectrum = singular_values(rows, ["raw"])["raw"]
                    expected = evaluate(metric, SpectrumBatch.from_flat(spectrum, np.array([len(spectrum)])))[0]
                assert values[layer, cell] == pytest.approx(expected, rel=1e-6, abs=1e-9), (metric, view)


def test_a_shard_without_reviews_has_tables_without_rows(save, job):
    tables = job(save(), n_reviews=0)
    assert [table.height for table in tables] == [0, 0, 0]
    assert [table.schema for table in tables] == [pl.Schema(schema) for schema in SCHEMAS]


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_the_shortest_reviews_have_the_numbers_that_exist(n_tokens):
    states = np.random.default_rng(0).normal(size=(3, n_tokens, 9)).astype(np.float32)
    numbers = dict(zip(cells(METRICS), read(states, massive_tokens(states), METRICS).T, strict=True))
    assert np.isnan(numbers["all_tokens", "cosine_anisotropy"]).all() == (n_tokens == 1)
    assert np.isnan(numbers["without_first", "cosine_anisotropy"]).all()
    assert np.isfinite(numbers["all_tokens", "max_explainable_variance"]).all()


def test_states_that_are_not_finite_name_the_review_and_the_condition(save, job):
    entry = save()
    token = next(
        iter(set(trained_tokenizer().encode(EMBEDDED[1]).ids) - set(trained_tokenizer().encode(EMBEDDED[0]).ids))
    )
    path = Path(entry["weights"]["path"]) / "model.safetensors"
    tensors = load_file(path)
    tensors["model.embed_tokens.weight"][token] = torch.inf
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ScriptError, match=r"review b, steering-first-0\.1-all: states that are not finite"):
        job(entry)
