"""The job of a variant and shard: pooled states, numbers and metrics of a tiny model, as other code computes them."""

import numpy as np
import polars as pl
import pytest
import torch
import transformers

from homogenization.consequences.schemas import POOLED_STATES_SCHEMA, TEXTS_SCHEMA
from homogenization.interventions.conditions import conditions_of
from homogenization.interventions.readings import pooled
from homogenization.run.parquet import read_table, write_table
from script import run_script
from tiny_blocks import EMBEDDED, saved

METRICS = ["cosine_anisotropy", "normalized_effective_rank"]
CHOSEN = {
    "blocks": ["all"],
    "steering": {"patterns": ["first", "removed"], "strengths": [0.3]},
    "masked": [],
    "clipped": None,
    "positions": [],
}
CONDITIONS = [condition.fields for condition in conditions_of(CHOSEN)]
NAMES = ["a", "b", "c"]


@pytest.fixture
def job(tmp_path):
    """Runs the script for three reviews; returns its tables metrics, texts and states."""
    reviews = pl.DataFrame({"review_id": NAMES, "text": EMBEDDED[:3], "rank": [0, 1, 2]})
    write_table(reviews, tmp_path / "original.parquet")
    entries = {}

    def run(conditions=CONDITIONS, model="llama", code="1"):
        entry = entries.setdefault(model, saved(tmp_path / model, model, model != "bert"))
        inputs = dict.fromkeys(("original", "variant"), str(tmp_path / "original.parquet"))
        outputs = {name: str(tmp_path / f"{model}.{name}.parquet") for name in ("metrics", "texts", "states")}
        params = {"model": {"name": model, "max_tokens": None, **entry}, "variant": "original"}
        params |= {
            "shard": "000",
            "n_reviews": 3,
            "conditions": conditions,
            "metrics": METRICS,
            "seed": 0,
            "module": "consequences.shard",
        }
        run_script("read_in_conditions", tmp_path / "log", inputs, outputs, params | {"code": code})
        return [read_table(path) for path in outputs.values()]

    run.folder = tmp_path
    return run


def hidden_states(folder, text):
    """(layers, tokens, width) of the residual stream, by transformers alone; and the logits."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    taken = []
    for block in network.model.layers:
        block.register_forward_pre_hook(lambda _, inputs: taken.append(inputs[0][0]))
    network.model.layers[-1].register_forward_hook(
        lambda _module, _inputs, output: taken.append((output[0] if isinstance(output, tuple) else output).squeeze(0))
    )
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        logits = network(ids).logits[0]
    return torch.stack(taken).numpy(), logits, ids[0]


def test_pooled_states_and_loss_are_those_of_transformers(job):
    _, texts, states = job()
    assert texts.schema == pl.Schema(TEXTS_SCHEMA)
    assert states.schema == pl.Schema(POOLED_STATES_SCHEMA)
    for name, text in zip(NAMES[:2], EMBEDDED[:2], strict=True):  # the third is cut
        layers, logits, ids = hidden_states(job.folder / "llama", text)
        own = states.filter(condition="untouched", review_id=name).sort("layer")
        np.testing.assert_allclose(np.stack(own["state"].to_list()), layers[:, 1:].mean(axis=1), atol=2e-6)
        row = texts.filter(condition="untouched", review_id=name).row(0, named=True)
        loss = torch.nn.functional.cross_entropy(logits[:-1], ids[1:])
        assert row["cross_entropy"] == pytest.approx(float(loss), abs=1e-5)
        assert row["kl"] == 0


def test_a_new_condition_computes_itself_and_leaves_the_other_rows(job, monkeypatch):
    first = job(conditions=CONDITIONS[:2])
    from homogenization.interventions import intervened

    ran = []
    apply = intervened.apply
    monkeypatch.setattr(intervened, "apply", lambda one, *rest: ran.append(one.key) or apply(one, *rest))
    second = job()
    assert set(ran) == {"steering:removed:0.3:all"}
    for before, after, fresh in zip(first, second, job(code="2"), strict=True):
        kept = after.filter(pl.col("condition").is_in(before["condition"].unique().to_list()))
        assert kept.equals(before)
        assert after.equals(fresh)


def test_an_encoder_has_pooled_states_and_no_loss(job):
    _, texts, states = job(model="bert")
    assert texts["cross_entropy"].null_count() == len(texts)
    assert len(states) == len(CONDITIONS) * 3 * 4


def test_massive_tokens_and_the_first_are_no_part_of_the_mean():
    states = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(pooled(list(states), {2}), states[:, [1, 3]].mean(axis=1))
    assert np.isnan(pooled(list(states), {1, 2, 3})).all()
