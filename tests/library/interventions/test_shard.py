"""The job of a shard: its tables, what stays of an earlier run, what is skipped or refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file
from tqdm import tqdm

from homogenization.interventions import intervened, shard
from homogenization.interventions.conditions import METRICS, VIEWS, cells, conditions_of
from homogenization.interventions.readings import massive_tokens, read
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.metrics.spectral import SpectrumBatch, evaluate
from homogenization.run.parquet import read_table, write_table
from script import ScriptError, run_script
from tiny_blocks import EMBEDDED, saved, trained_tokenizer

CHOSEN = {
    "blocks": ["all", [1, 3]],
    "steering": {"patterns": ["first", "removed"], "strengths": [0.1]},
    "masked": ["massive"],
    "positions": None,
    "metrics": ["cosine_anisotropy", "max_explainable_variance"],
}
KEYS = [
    "untouched",
    "steering:first:0.1:all",
    "steering:removed:0.1:all",
    "steering:first:0.1:1,3",
    "steering:removed:0.1:1,3",
]


@pytest.fixture
def save(tmp_path):
    """Saves a tiny language model and its tokenizer; returns the entry of `models`."""
    return lambda name="llama", head=True, **fields: saved(tmp_path / f"{name}{head}", name, head, **fields)


@pytest.fixture
def job(tmp_path):
    """Runs the script for three reviews; returns its tables metrics and doses."""
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": EMBEDDED[:3], "rank": [0, 1, 2]})
    write_table(reviews, tmp_path / "variant.parquet")

    def run(entry, chosen=CHOSEN, n_reviews=2, max_tokens=None, depth=None, code="1"):
        inputs = {name: str(tmp_path / "variant.parquet") for name in ("variant", "original")}
        if depth is not None:
            write_table(depth, tmp_path / "depth.parquet")
            inputs["depth"] = str(tmp_path / "depth.parquet")
        outputs = {name: str(tmp_path / f"{name}.out.parquet") for name in ("metrics", "doses")}
        params = {"model": {"name": "tiny", "max_tokens": max_tokens, **entry}}
        params |= {"variant": "original", "shard": "000", "n_reviews": n_reviews, "module": "interventions.shard"}
        params |= {"conditions": [condition.fields for condition in conditions_of(chosen)]}
        params |= {"metrics": chosen["metrics"]}
        run_script("read_in_conditions", tmp_path / "log", inputs, outputs, params | {"seed": 0, "code": code})
        return [read_table(path) for path in outputs.values()]

    return run


def test_a_shard_has_a_row_for_all_that_is_asked(save, job, tmp_path):
    metrics, doses = job(save())
    told, n_tokens = (tmp_path / "log").read_text(), tqdm.format_sizeof(doses["n_tokens"].sum())
    assert f"{n_tokens}/{n_tokens}" in told, "the log counts the tokens of every condition"
    assert doses["condition"][-1] in told
    assert [metrics.schema, doses.schema] == [pl.Schema(schema) for schema in (INTERVENED_SCHEMA, DOSES_SCHEMA)]
    keys = [*KEYS, "masked:massive"]
    assert [condition.key for condition in conditions_of(CHOSEN)] == keys
    assert doses["condition"].unique(maintain_order=True).to_list() == keys
    assert len(doses) == len(keys) * 2
    assert len(metrics) == len(keys) * 2 * 4 * 2 * len(VIEWS)
    assert metrics["review_id"].unique(maintain_order=True).to_list() == ["a", "b"]
    nothing = doses.filter(pl.col("condition").is_in(["untouched", "masked:massive"]))
    assert nothing.select("kl", "moved_mass").unique().rows() == [(0.0, 0.0)], "no token of this model is massive"
    changed = doses.filter(kind="steering")
    assert (changed["kl"] > 0).all()
    assert changed.filter(pattern="removed")["moved_mass"].to_list() == pytest.approx([0.05] * 4)
    at_start = metrics.filter(layer=0).group_by("review_id", "view", "metric").agg(pl.col("value").n_unique())
    assert at_start["value"].unique().to_list() == [1], "nothing has changed before the first block"


def test_a_new_condition_alone_is_computed_and_the_rest_stays(save, job, monkeypatch):
    entry = save()
    before = job(entry)
    asked = []

    def counted(reviews, conditions, *others, **further):
        asked.append([condition.key for condition in conditions])
        return intervened.intervene(reviews, conditions, *others, **further)

    monkeypatch.setattr(shard, "intervene", counted)
    assert all(old.equals(new) for old, new in zip(before, job(entry), strict=True))
    assert asked == [], "all is known"
    more = CHOSEN | {"steering": {"patterns": ["first", "removed"], "strengths": [0.1, 0.2]}, "blocks": ["all"]}
    metrics, doses = job(entry, more)
    assert asked == [["untouched", "steering:first:0.2:all", "steering:removed:0.2:all"]]
    whole = job(save("qwen2"), more)  # other weights: nothing stays
    assert len(asked[1]) == 6
    keys = [condition.key for condition in conditions_of(more)]
    for table, of_other in ((metrics, whole[0]), (doses, whole[1])):
        assert table["condition"].unique(maintain_order=True).to_list() == keys
        assert table.select("review_id", "condition").equals(of_other.select("review_id", "condition"))
    afresh = job(entry, more)
    assert len(asked) == 3
    assert metrics.equals(afresh[0])
    assert doses.equals(afresh[1])
    for changed in ({"code": "2"}, {"n_reviews": 3}):
        job(entry, more, **changed)
    assert [len(keys) for keys in asked[3:]] == [6, 6], "other code, other reviews"


def test_an_encoder_has_no_damage(save, job):
    metrics, doses = job(save("bert", head=False))
    assert doses["kl"].null_count() == doses["cross_entropy"].null_count() == len(doses)
    assert (doses.filter(kind="steering")["moved_mass"] > 0).all()
    assert metrics["value"].is_finite().all()


def test_the_steepest_blocks_come_from_the_depth_table(save, job):
    row = {"model": "tiny", "variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy"}
    depth = pl.DataFrame([row | {"statistic": "steepest", "estimate": 0.5, "ci_low": 1 / 3, "ci_high": 2 / 3}])
    chosen = CHOSEN | {"blocks": ["steepest", [2]]}
    metrics, *_ = job(save(), chosen, depth=depth)
    found = [
        metrics.filter(condition=f"steering:first:0.1:{blocks}")["value"].to_list() for blocks in ("steepest", "2")
    ]
    assert found[0] == found[1]
    with pytest.raises(ScriptError, match=r"'steepest' has no meaning for the model tiny"):
        job(save(), chosen, depth=depth.with_columns(estimate=float("nan")))


@pytest.mark.parametrize(
    ("name", "head", "changed", "said"),
    [
        ("gpt2", True, {"positions": "constant"}, r"positions: the model tiny \(GPT2Model\) has no rotary positions"),
        ("bert", False, {"positions": "constant"}, r"\(BertModel\) has no rotary positions"),
        ("llama", True, {"blocks": [[4]]}, r"blocks: '4' names blocks that the model tiny does not have; it has 3"),
        ("llama", False, {}, r"lack 1 tensors of LlamaForCausalLM, such as lm_head.weight.*tie_word_embeddings: true"),
    ],
)
def test_what_a_model_can_not_do_is_refused_before_it_runs(save, job, monkeypatch, name, head, changed, said):
    monkeypatch.setattr(intervened, "apply", None)
    with pytest.raises(ScriptError, match=said):
        job(save(name, head=head), CHOSEN | changed)


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
    assert [table.height for table in tables] == [0, 0]
    assert [table.schema for table in tables] == [pl.Schema(s) for s in (INTERVENED_SCHEMA, DOSES_SCHEMA)]


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_the_shortest_reviews_have_the_numbers_that_exist(n_tokens):
    states = np.random.default_rng(0).normal(size=(3, n_tokens, 9)).astype(np.float32)
    numbers = dict(zip(cells(METRICS), read(states, massive_tokens(states), METRICS).T, strict=True))
    assert np.isnan(numbers["all_tokens", "cosine_anisotropy"]).all() == (n_tokens == 1)
    assert np.isnan(numbers["without_first", "cosine_anisotropy"]).all()
    assert np.isfinite(numbers["all_tokens", "max_explainable_variance"]).all()


def test_states_that_are_not_finite_name_the_review_and_the_condition(save, job, monkeypatch):
    # loading refuses such weights; a pass may still overflow
    monkeypatch.setattr("homogenization.models.loading.check_loaded", lambda *arguments: None)
    entry = save()
    token = next(
        iter(set(trained_tokenizer().encode(EMBEDDED[1]).ids) - set(trained_tokenizer().encode(EMBEDDED[0]).ids))
    )
    path = Path(entry["weights"]["path"]) / "model.safetensors"
    tensors = load_file(path)
    tensors["model.embed_tokens.weight"][token] = torch.inf
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(
        ScriptError, match="model tiny, variant original, review b, condition untouched: states that are not finite"
    ):
        job(entry)
