"""A shard of which a language model rewrote no review: states and measures without a row, but with a schema."""

import pytest

from extracted import reading_of, run, tiny
from homogenization.measures.components import COMPONENT_STATES_SCHEMA, component_states
from homogenization.measures.reviews import class_of, measured
from homogenization.measures.views import VIEWS
from homogenization.states.store import open_store
from tiny_models import CONFIGS

MEASURES = {
    "spectra": [sorted(VIEWS)],
    "geometry": [],
    "attention": [],
    "pooled": [],
    "mauve": [20, [0, 1]],
}


@pytest.fixture(scope="module")
def model():
    return tiny(CONFIGS["llama"])


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def store(model, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "s.zarr.zip"
    record = run(model, [], path, dtype=request.param)
    assert (record["n_reviews"], record["n_tokens"], record["tokens_per_second"]) == (0, 0, 0)
    with open_store(path) as opened:
        yield opened


@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_nothing_are_empty_tables(store, name):
    measure = class_of(name)
    assert store.residual_stream(2).shape == store.final_norm().shape == (0, 48)
    for table, schema in zip(measured(measure(store, *MEASURES[name])), measure.schemas, strict=True):
        assert table.is_empty()
        assert dict(table.schema) == schema


def test_components_of_nothing_are_an_empty_table(model):
    table, metadata = component_states(reading_of(model, [], record_attention=False))
    assert table.is_empty()
    assert dict(table.schema) == COMPONENT_STATES_SCHEMA
    assert "attention" in metadata["components"]
