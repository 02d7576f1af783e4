"""A shard of which a language model rewrote no review: states and measures without a row, but with a schema."""

import pytest

from homogenization.measures import components
from homogenization.measures.reviews import class_of, measured
from homogenization.measures.views import VIEWS
from homogenization.models.untrained import build_random_model
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading
from homogenization.states.sample import sample_states
from homogenization.states.store import open_store

IDENTITY = {"model": "tiny", "variant": "front", "shard": "001"}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
MEASURES = {
    "spectra": [sorted(VIEWS)],
    "geometry": [],
    "attention": [],
    "pooled": [],
    "mauve": [20, [0, 1]],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    build_random_model(LLAMA, 0, ["a film", "a story"], 300, folder)
    entry = {"weights": {"path": str(folder)}, "dtype": "float32", "device": "cpu", "bos": "always", "max_tokens": None}
    return load_model(entry)


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def stores(model, request, tmp_path_factory):
    """A store of no review, and a sample of it."""
    whole, sample = (tmp_path_factory.mktemp("states") / f"{name}.zarr.zip" for name in ("whole", "sample"))
    reading = Reading(model, Texts([], []), IDENTITY, 512, record_attention=True, dtype=request.param)
    record = extract(reading, whole, 100)
    assert (record["n_reviews"], record["n_tokens"], record["tokens_per_second"]) == (0, 0, 0)
    sample_states(whole, sample, 8, seed=0)
    return whole, sample


@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_nothing_are_empty_tables(stores, name):
    measure = class_of(name)
    for path in stores:
        with open_store(path) as store:
            assert store.residual_stream(2).shape == store.final_norm().shape == (0, 16)
            for table, schema in zip(measured(measure(store, *MEASURES[name])), measure.schemas, strict=True):
                assert table.is_empty()
                assert dict(table.schema) == schema


def test_components_of_nothing_are_an_empty_table(model):
    table, metadata = components.component_states(Reading(model, Texts([], []), IDENTITY, 512, record_attention=False))
    assert table.is_empty()
    assert dict(table.schema) == components.COMPONENT_STATES_SCHEMA
    assert "attention" in metadata["components"]
