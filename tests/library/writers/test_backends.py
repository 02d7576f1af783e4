"""The factory: the module of a backend is imported where it is asked for, and nowhere before."""

import subprocess
import sys

import pytest

from conftest import ROOT
from homogenization.run.errors import HomogenizationError
from homogenization.writers.backends import BACKENDS, make_writer
from homogenization.writers.endpoint import OpenAIWriter
from homogenization.writers.local import LocalWriter

SAMPLING = {"temperature": 0.7, "top_p": 0.95, "max_new_tokens": 64, "structured_output": "none"}
ENTRIES = {
    "openai": {"model": "tiny", "revision": None, "base_url": "http://host:1/v1", "api_key_variable": "NO_SUCH_KEY"},
    "transformers": {"weights": {"path": "nowhere"}, "dtype": "float32", "device": "cpu", "batch_size": 4},
}
MEANS = {"gpus": 1, "connections": 2, "timeout_seconds": 10.0, "max_retries": 0}


@pytest.mark.parametrize(("backend", "kind"), [("openai", OpenAIWriter), ("transformers", LocalWriter)])
def test_each_backend_makes_its_writer(backend, kind):
    writer = make_writer({"backend": backend, **SAMPLING, **ENTRIES[backend]}, 3, **MEANS)
    assert isinstance(writer, kind)
    assert writer.parameters == {**SAMPLING, "seed": 3}


def test_an_unknown_backend_is_named():
    with pytest.raises(HomogenizationError, match=r"backend 'parrot' is unknown\. Allowed: openai, tr"):
        make_writer({"backend": "parrot"}, 0)


def test_the_registry_loads_no_backend():
    code = "import homogenization.writers.backends, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "workflow/lib")}, capture_output=True, text=True
    )
    assert loaded.returncode == 0, loaded.stderr
    assert not {"torch", "openai", "polars"} & set(loaded.stdout.split())
    assert not {f"homogenization.{module}" for module in BACKENDS.values()} & set(loaded.stdout.split())
