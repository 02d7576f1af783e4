"""Lists that pages write by hand name what there is: configurations, stages, keys."""

import re

import pytest
import yaml

from conftest import ROOT
from homogenization.config.docs import key_table
from homogenization.figures.catalogue import FIGURES
from homogenization.measures.views import VIEWS
from homogenization.names.variants import CONTROL_ROLES, RULE_POSITIONS
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from pages import DOCS, rows_of
from tiny_models import CONFIGS, FURTHER

CONFIGURATION = (ROOT / "config/README.md").read_text(encoding="utf-8")
NO_STAGES = ("common", "storage")  # rule files without a rule
STAGES = sorted(path.stem for path in (ROOT / "workflow/rules").glob("*.smk") if path.stem not in NO_STAGES)


def names_in(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def test_every_configuration_is_listed_with_what_it_needs():
    """A file of claims is a list, a configuration a mapping."""
    contents = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / "config").glob("*.yaml")}
    listed = [names_in(row[0])[0] for row in rows_of(CONFIGURATION) if names_in(row[0]) and ".yaml" in row[0]]
    assert sorted(listed) == sorted(name for name, content in contents.items() if isinstance(content, dict))


@pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
def test_every_rule_file_is_a_stage_that_is_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [stage for stage in STAGES if not re.search(rf"\b{stage}\b", text)] == []


def test_the_table_of_figures_names_every_figure():
    rows = rows_of((DOCS / "figures.md").read_text(encoding="utf-8"))
    named = [name.partition("/")[0] for row in rows for name in names_in(row[0])]
    assert sorted(named) == sorted(figure.folder or figure.name for figure in FIGURES.values())


def test_what_reruns_names_keys_that_there_are():
    """A key without its section stands in the row, or the part of it, of one that has it."""
    keys = set(names_in("\n".join(row[0] for row in rows_of(key_table()))))
    sections = {key.rpartition(".")[0] for key in keys} | {key.split(".")[0] for key in keys}
    table = CONFIGURATION.split("## What reruns")[1].split("## Every key")[0]
    for row in rows_of(table)[2:]:
        for part in row[0].split(";"):
            section = ""
            for name in names_in(part):
                known = name.removesuffix(".*").removesuffix(".NAME")
                if known in keys | sections and f"{section}.{name}" not in keys:
                    section = known.rpartition(".")[0]
                elif re.fullmatch(r"[a-zA-Z_.]+", name) and name != "false":
                    assert f"{section}.{name}" in keys, f"{name} in {row[0]}"


def test_the_catalogue_says_what_the_first_run_fetches():
    """The same size as the page on configurations."""
    described = (ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8")
    (row,) = (row for row in rows_of(CONFIGURATION) if row[0] == "`config.yaml`")
    assert re.search(r"\d+ MB", row[3])[0] in described


def test_the_index_of_the_documentation_names_every_page():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"({page}" not in index] == []


@pytest.mark.parametrize(
    "names",
    [VIEWS, (SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTED, NEGLIGIBLE), RULE_POSITIONS, CONTROL_ROLES],
    ids=lambda names: next(iter(names)),
)
def test_the_glossary_has_the_words_that_tables_use(names):
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8").lower()
    assert [name for name in names if name not in glossary] == []
    terms = re.findall(r"^### (.*)", glossary, re.MULTILINE)
    assert terms == sorted(terms)


def test_the_architectures_that_are_read_are_those_that_tests_compare_with_transformers():
    text = (DOCS / "states.md").read_text(encoding="utf-8")
    listed = names_in(text.split("with transformers' own:")[1].split("Others are tried")[0])
    assert listed == sorted({config.model_type for config in (CONFIGS | FURTHER).values()})
