"""The notebook of the docs runs on the results of the small run; the page beside it is what it printed and drew."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

from conftest import ROOT
from pages import DOCS

NOTEBOOK = DOCS / "reading.ipynb"


@pytest.fixture
def notebook() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, as_version=4)


def printed(notebook: nbformat.NotebookNode) -> str:
    """What its cells printed."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output["text"] for output in outputs if output["output_type"] == "stream")


def kinds(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """What each of its cells gave: text, in whatever pieces, pictures, or an error."""
    return [list(dict.fromkeys(output["output_type"] for output in cell.get("outputs", []))) for cell in notebook.cells]


def test_the_notebook_runs_on_another_study(notebook, finished_run, tmp_path, monkeypatch):
    stored = kinds(notebook)
    (tmp_path / "docs").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results/untrained").symlink_to(finished_run / "results")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow/lib"))
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path / "docs")}}).execute()
    assert kinds(notebook) == stored
    assert re.search(
        r"study [0-9a-f]{16} in \.\./results/untrained: 12 reviews, 1 model, 2 variants", printed(notebook)
    )
    assert "(4, " in printed(notebook)  # layers of the small model


def test_the_page_is_the_notebook():
    places = {"output_files_dir": "reading_files", "unique_key": "reading"}
    page, resources = MarkdownExporter().from_filename(str(NOTEBOOK), places)
    again = "write it anew: jupyter nbconvert --to markdown docs/reading.ipynb"
    assert (DOCS / "reading.md").read_text(encoding="utf-8").rstrip() == page.rstrip(), again
    assert len(resources["outputs"]) == 3
    for name, picture in resources["outputs"].items():
        assert (DOCS / name).read_bytes() == picture, again


def test_the_notebook_is_small_and_has_its_outputs(notebook):
    assert NOTEBOOK.stat().st_size < 300_000
    assert "error" not in {kind for cell in kinds(notebook) for kind in cell}
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code")
