"""Every number of a store is what the script of the benchmarks makes of transformers' own output, by architecture."""

import numpy as np
import pytest
import torch

from extracted import EMBEDDED, run, tiny
from homogenization.measures.measure import measure
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.states.store import open_store
from homogenization.tables.metrics import metrics_of_job, values_of
from plain_numbers import numbers_of
from tiny_models import CONFIGS, FURTHER, HEADLESS

READ = ["gemma3_text", "gpt_oss", "mistral", "modernbert", "roberta"]
TEXTS = [" ".join(text.split()[:n_words]) for text, n_words in zip(EMBEDDED, (40, 12), strict=False)]


def without_zeros(network):
    """The token of padding, which the tokenizer writes too, has a state with a direction."""
    torch.nn.init.normal_(network.get_input_embeddings().weight[0], std=0.05)


@pytest.mark.parametrize("name", [*CONFIGS, *READ])
def test_every_number_of_a_store_is_that_of_the_plain_script(name, tmp_path):
    model = tiny((CONFIGS | FURTHER)[name], weights=without_zeros, head=name not in HEADLESS)
    run(model, TEXTS, tmp_path / "s.zarr.zip")
    with open_store(tmp_path / "s.zarr.zip") as store:
        tables = measure(store, VIEWS)
        ids = np.split(store.token_ids, store.review_offsets[1:-1])
    values = values_of(metrics_of_job(tables["matrices"], tables["attention"], METRIC_NAMES))
    for number, own in enumerate(ids):
        of_review = values.filter(review_id=f"r{number}").select("point", "layer", "view", "metric", "value").rows()
        found = {place: value for *place, value in of_review for place in [tuple(place)]}
        assert found == pytest.approx(numbers_of(model.base, own.tolist()), rel=1e-5, abs=1e-7, nan_ok=True)
        told = tables["texts"].row(number, named=True)
        assert told["n_words"] == len(TEXTS[number].split())
        if model.has_head:
            predicted = {key: told[key] for key in ("loss_per_word", "entropy", "divergence")}
            assert predicted == pytest.approx(of_the_predictions(model, own, told["n_words"]), rel=1e-5)


def of_the_predictions(model, ids, n_words):
    """Of all tokens but BOS, which is not predicted."""
    model.network.set_attn_implementation("eager")
    with torch.inference_mode():
        logits = model.network(torch.from_numpy(ids)[None]).logits[0, :-1].double().numpy()
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    entropy, of_mean = (-(q * np.log(q)).sum(axis=-1) for q in (p, p.mean(axis=0)))
    loss = -np.log(p[np.arange(len(p)), ids[1:]]).sum()
    return {"loss_per_word": loss / n_words, "entropy": entropy.mean(), "divergence": of_mean - entropy.mean()}
