"""The examples of the documentation work; the citation names the version; benchmarks import what the library has."""

import ast
import re
import shutil
from importlib import import_module

import numpy as np
import pytest
import yaml

from conftest import ROOT, SMALL
from homogenization.config.claims import load_all_claims
from homogenization.config.study import load_study
from homogenization.measures.spectra import singular_values
from homogenization.metrics.spectral import SpectrumBatch
from homogenization.reading.citation import VERSION
from pages import blocks

EXAMPLE_PAGES = ("texts.md", "states.md", "interventions.md")  # examples of a configuration


def run_example(module_name: str, monkeypatch, registry: str):
    """Run the example that docs/metrics.md gives for a module, in the module's own names; its registry recovers."""
    (code,) = blocks(f'python title="{module_name}"', "metrics.md")
    module = import_module(f"homogenization.{module_name}")
    entries = getattr(module, registry)
    for name in set(re.findall(r"^def (\w+)", code, re.MULTILINE)) | set(re.findall(r'\["(\w+)"\]', code)):
        monkeypatch.delitem(entries, name, raising=False)
        monkeypatch.setitem(entries, name, None)
    exec(compile(code, "docs/metrics.md", "exec"), dict(vars(module)))
    return module


def test_the_example_of_a_metric_works(monkeypatch):
    spectral = run_example("metrics.spectral", monkeypatch, "SPECTRAL_METRICS")
    batch = SpectrumBatch(np.array([[3.0, 3.0, 0.01, 0.0], [1.0, 0, 0, 0], [0.0, 0, 0, 0]]), np.array([4, 4, 4]))
    np.testing.assert_array_equal(spectral.evaluate("directions_for_99_percent", batch), [2, 1, np.nan])


def test_the_example_of_a_view_works(monkeypatch):
    run_example("measures.views", monkeypatch, "_LOOKS")
    tokens = np.random.default_rng(0).normal(size=(7, 5)) * [1, 10, 100, 1, 0] + 3
    spectra = singular_values(tokens, ["standardised", "standardised_without_first"])
    for name, kept in (("standardised", tokens), ("standardised_without_first", tokens[1:])):
        spread = kept[:, :4] - kept[:, :4].mean(axis=0)
        expected = np.linalg.svd(spread / spread.std(axis=0), compute_uv=False)
        np.testing.assert_allclose(spectra[name][:4], expected, rtol=1e-10)


@pytest.mark.parametrize("example", blocks("yaml", "claims.md"))
def test_the_examples_of_claims_are_valid(example, tmp_path):
    (tmp_path / "claims.yaml").write_text(example)
    assert load_all_claims([tmp_path / "claims.yaml"])


@pytest.mark.parametrize("example", [example for page in EXAMPLE_PAGES for example in blocks("yaml", page)])
def test_the_examples_of_configurations_are_valid(example, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for file in (
        "models/mine/config.json",
        "models/mine/model.safetensors",
        "models/mine/tokenizer.json",
        "data/my_reviews.csv",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        rows = "review,stars,text,label\n" + "a,5,a,b\n" * 200
        (tmp_path / file).write_text("{}" if file.endswith(".json") else rows)
    for reader in ("first", "second"):  # of an audit
        (tmp_path / "ratings").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests/ratings.csv", tmp_path / f"ratings/{reader}.csv")
    writers = {}
    for written in blocks("yaml", "texts.md"):
        writers |= yaml.safe_load(written).get("writers", {})
    raw = yaml.safe_load(example)
    if "variants" in raw:
        raw["variants"] = SMALL["variants"] | raw["variants"]
    load_study(SMALL | {"writers": writers} | raw)


def test_the_citation_names_the_version_of_the_project():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION


def test_scripts_beside_the_library_import_what_it_has():
    """No test runs them whole: most need weights, hours or a GPU."""
    nodes = [node for path in (ROOT / "benchmarks").glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    asked = [(n.module, name.name) for n in nodes if isinstance(n, ast.ImportFrom) for name in n.names]
    asked = [(module, name) for module, name in asked if module.startswith("homogenization")]
    assert asked
    assert not [f"{module}: {name}" for module, name in asked if not hasattr(import_module(module), name)]
