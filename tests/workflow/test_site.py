"""The website of the pages: it builds without a warning, has every page, and a broken link ends the build."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from pages import DOCS

BIN = Path(sys.executable).parent


@pytest.fixture
def pages(tmp_path) -> Path:
    """A copy of what the website is built from: links to the files of the repository."""
    for path in ROOT.iterdir():
        if path.suffix or path.name in ("Makefile", "LICENSE", "config", "docs", "benchmarks", "envs"):
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def make_docs(folder: Path) -> subprocess.CompletedProcess:
    """Call `make docs` there with the tools of this environment."""
    command = ["make", "--silent", "docs", f"BIN={BIN}", "VENV=venv", "--assume-old=venv/.dev"]
    environment = {**os.environ, "MAKEFLAGS": "", "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_the_website_has_every_page_and_a_search(pages):
    done = make_docs(pages)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("Website  build/site/index.html\n")
    site = pages / "build/site"
    for page in [ROOT / "config/README.md", *DOCS.rglob("*.md")]:
        place = page.relative_to(ROOT).with_suffix(".html")
        assert (site / (place.with_name("index.html") if page.name == "README.md" else place)).is_file(), page
    assert "measures how alike the hidden states" in (site / "index.html").read_text(encoding="utf-8")
    found = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any(entry["location"].startswith("config/index.html#every-key") for entry in found)


def test_broken_links_end_the_build_and_are_named(pages):
    links = ["docs/states.md#nowhere", "docs/nowhere.md", "docs/gallery/nowhere.png", "workflow/nowhere"]
    readme = (pages / "README.md").read_text(encoding="utf-8")
    (pages / "README.md").unlink()
    (pages / "README.md").write_text("\n".join([readme, *(f"[here]({link})" for link in links)]), encoding="utf-8")
    done = make_docs(pages)
    assert done.returncode != 0
    assert [link for link in links if f"'{link}'" not in done.stdout] == []
    assert "Aborted with 4 warnings in strict mode" in done.stdout
