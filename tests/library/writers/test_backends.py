"""The module of a backend makes its writer."""

import pytest

from homogenization.writers.answers import make_writer
from homogenization.writers.endpoint import OpenAIWriter
from homogenization.writers.local import LocalWriter

SAMPLING = {"temperature": 0.7, "top_p": 0.95, "max_new_tokens": 64, "structured_output": "none"}
ENTRIES = {
    "writers.endpoint": {
        "model": "tiny",
        "revision": None,
        "base_url": "http://host:1/v1",
        "api_key_variable": "NO_SUCH_KEY",
    },
    "writers.local": {"weights": {"path": "nowhere"}, "dtype": "float32", "device": "cpu", "batch_size": 4},
}
MEANS = {"gpus": 1, "connections": 2, "timeout_seconds": 10.0, "max_retries": 0}


KINDS = {"writers.endpoint": OpenAIWriter, "writers.local": LocalWriter}


@pytest.mark.parametrize(("module", "kind"), KINDS.items())
def test_each_backend_makes_its_writer(module, kind):
    writer = make_writer(module, SAMPLING | ENTRIES[module], 3, **MEANS)
    assert isinstance(writer, kind)
    assert writer.parameters == {**SAMPLING, "seed": 3}
