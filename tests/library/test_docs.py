"""The documentation is whole: stages, rules, modules, links, the citation, the rule graph."""

import ast
import re
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, SMALL, Project, copy_workflow
from homogenization.reading.citation import VERSION
from pages import DOCS

LIBRARY = ROOT / "workflow/lib/homogenization"
STAGES = ("corpus", "variants", "states", "measures", "tables", "statistics", "figures", "plan")
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "config/README.md", ROOT / "benchmarks/README.md", *DOCS.glob("**/*.md")])


def numbers(text: str) -> set[str]:
    return set(re.findall(r"[+−]?\d*\.\d+", text))


def test_the_numbers_of_the_readme_stand_on_the_pages_that_it_links_them_to():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    linked = {line: set(re.findall(r"\((docs/gallery/\w+\.md)", line)) for line in lines}
    checked = 0
    for line, pages in linked.items():
        there = numbers("".join((ROOT / page).read_text(encoding="utf-8") for page in pages))
        given = numbers(re.sub(r"\]\([^)]*\)", "]", line)) if pages else set()
        assert given - there == set(), line
        checked += len(given)
    assert checked > 30


@pytest.mark.parametrize("page", ["README", "families", "constructions", "causes", "consequences", "training"])
def test_a_page_of_findings_says_how_to_cite_it_by_the_very_configuration(page):
    last = (DOCS / f"gallery/{page}.md").read_text(encoding="utf-8").splitlines()[-1]
    config, digest = re.search(
        r"commit [0-9a-f]{8}, \[([\w-]+\.yaml)]\(\1\) \(SHA-256 ([0-9a-f]{16})…\)", last
    ).groups()
    assert sha256((DOCS / "gallery" / config).read_bytes()).hexdigest().startswith(digest)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_a_package_a_page_and_a_place_in_the_index(stage):
    assert (LIBRARY / stage / "__init__.py").is_file()
    assert f"[{stage}]({stage}.md)" in (DOCS / "README.md").read_text(encoding="utf-8")
    assert (DOCS / f"{stage}.md").read_text(encoding="utf-8").startswith(f"# {stage.title()}\n")


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ("tables", "statistics", "figures")])
def test_the_page_of_a_stage_names_its_rules(stage):
    """Those of tables and figures are not named: they are made from catalogues."""
    rules = (ROOT / f"workflow/rules/{stage}.smk").read_text(encoding="utf-8")
    page = (DOCS / f"{stage}.md").read_text(encoding="utf-8")
    assert [rule for rule in re.findall(r"^ *rule (\w+):", rules, re.MULTILINE) if f"`{rule}`" not in page] == []


def test_every_module_that_the_documentation_names_is_there():
    for page in PAGES:
        for name in re.findall(r"`((?:workflow/lib/homogenization/)?[a-z_]+/[a-z_]+\.py)`", page.read_text("utf-8")):
            module = LIBRARY / name.removeprefix("workflow/lib/homogenization/")
            assert module.is_file() or (ROOT / name).is_file(), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}, a heading that {file.name} lacks"


def anchors(page: Path) -> set[str]:
    """The headings of a page in the form in which a link names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_citation_names_the_version_of_the_project():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    assert re.search(rf"^## {re.escape(VERSION)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert f"version = {{{VERSION}}}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["docs/gallery", "benchmarks"])
def test_scripts_beside_the_pages_import_what_the_library_has(folder):
    """No test runs them whole: most need weights, hours or a GPU."""
    nodes = [node for path in (ROOT / folder).glob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    asked = [(n.module, name.name) for n in nodes if isinstance(n, ast.ImportFrom) for name in n.names]
    asked = [(module, name) for module, name in asked if module.startswith("homogenization")]
    assert asked
    assert not [f"{module}: {name}" for module, name in asked if not hasattr(import_module(module), name)]


def test_the_rule_graph_is_that_of_the_workflow(tmp_path):
    copy_workflow(tmp_path / "project")
    every_metric = {key: value for key, value in SMALL.items() if key != "metrics"}
    printed = Project(tmp_path / "project", every_metric).ask("--rulegraph", "mermaid-js")
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]$", printed, re.MULTILINE))
    edges = {(names[one], names[other]) for one, other in re.findall(r"^\s*(\w+) --> (\w+)$", printed, re.MULTILINE)}
    # figures are drawn of the tables that the catalogue names
    actual = {edge for edge in edges if not any(rule.startswith(("plot_", "all")) for rule in edge)}
    picture = (DOCS / "rules.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", picture)) == actual
