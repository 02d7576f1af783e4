"""The citation names the version; scripts beside the library import what it has."""

import ast
from importlib import import_module

import yaml

from conftest import ROOT
from homogenization.reading.citation import VERSION


def test_the_citation_names_the_version_of_the_project():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION


def test_scripts_beside_the_library_import_what_it_has():
    """No test runs them whole: most need weights, hours or a GPU."""
    nodes = [node for path in (ROOT / "benchmarks").glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    asked = [(n.module, name.name) for n in nodes if isinstance(n, ast.ImportFrom) for name in n.names]
    asked = [(module, name) for module, name in asked if module.startswith("homogenization")]
    assert asked
    assert not [f"{module}: {name}" for module, name in asked if not hasattr(import_module(module), name)]
