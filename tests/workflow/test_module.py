"""The workflow in another one, as a module of a folder or of a repository's address; and from another folder."""

import copy
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, SMALL, Project, copy_workflow

PARENT = """
configfile: "parent.yaml"


module homogenization:
    snakefile: {snakefile}
    config: config["homogenization"]


use rule * from homogenization as homogenization_*


rule mine:
    default_target: True
    output: "mine.txt"
    shell: "echo {{config[word]}} > {{output}}"

assert set(config) == {{"word", "homogenization"}}, "the module has its own configuration"
assert not {{"all", "plan", "tables"}} & {{rule.name for rule in workflow.rules}}, "and its own names"
"""


class Parent(Project):
    """A workflow of its own, which imports this one as a module; results lie in a folder of its choice."""

    def __init__(self, folder: Path, snakefile: str) -> None:
        study = copy.deepcopy(SMALL) | {"results": "studies/first"}
        super().__init__(folder, {"word": "mine", "homogenization": study})
        (folder / "workflow").mkdir(parents=True)
        (folder / "workflow/Snakefile").write_text(PARENT.format(snakefile=snakefile))
        copy_workflow(folder / "repository")
        (folder / "config").symlink_to("repository/config")

    def _arguments(self, *arguments: str) -> list[str]:
        (self.folder / "parent.yaml").write_text(yaml.safe_dump(self.config))
        return list(arguments)


def test_a_configuration_in_another_folder_plans_the_same(project, tmp_path):
    """The workflow's own texts, claims and prompts are found from anywhere; results lie in the working directory."""
    elsewhere = Project(tmp_path / "elsewhere", project.config)
    elsewhere.folder.mkdir()
    assert elsewhere.planned("--snakefile", str(project.folder / "Snakefile")) == project.planned()
    assert {path.name for path in elsewhere.folder.iterdir()} == {"test.yaml", ".snakemake"}


def test_a_module_plans_what_the_workflow_plans_and_makes_it(project, tmp_path):
    parent = Parent(tmp_path / "parent", repr("../repository/workflow/Snakefile"))
    direct = project.planned()
    assert direct.total() > 50
    renamed = {f"homogenization_{rule}": count for rule, count in direct.items()}
    assert parent.planned("homogenization_all") == Counter(renamed | {"homogenization_all": 1})
    assert parent.planned() == {"mine": 1}
    assert parent.run("--cores", "2", "studies/first/corpus/000.parquet").returncode == 0
    summary = re.findall(r"^(\S+)\t", parent.ask("--summary", "homogenization_all"), re.MULTILINE)[1:]
    assert len(summary) > 100
    assert all(file.startswith("studies/first/") for file in summary)
    parent.config["homogenization"]["modles"] = {}
    failed = parent.run("--cores", "2")
    assert failed.returncode != 0
    assert "Traceback" not in failed.stdout
    assert "parent.yaml: 1 problem" in failed.stdout
    assert "modles" in failed.stdout


def test_the_studies_of_the_findings_are_modules_of_one_workflow(tmp_path, imdb, stories):
    (tmp_path / "imdb_2000.parquet").symlink_to(imdb)
    (tmp_path / "models").symlink_to(stories.parent)
    planned = Project(tmp_path).planned("--snakefile", str(ROOT / "docs/findings/Snakefile"))
    studies = {"families", "natural", "sentences", "written", "penalty"}
    assert {rule.partition("_")[0] for rule in planned} == studies | {"findings"}


@pytest.fixture
def hosted(tmp_path):
    """An environment in which a repository's address leads to one on this machine, and the library is installed."""
    hosted = tmp_path / "hosted"
    copy_workflow(hosted)
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "init.defaultBranch=main"]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run([*git, *command], cwd=hosted, check=True)
    rewritten = f'[url "file://{hosted}/"]\n    insteadOf = https://github.com/someone/homogenization\n'
    (tmp_path / "gitconfig").write_text(f"{rewritten}[safe]\n    directory = *\n")
    return {
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT / "workflow/lib"),
    }


def test_rules_from_the_address_of_a_repository_find_the_installed_library(tmp_path, hosted):
    """As `snakedeploy deploy-workflow` writes it."""
    parent = Parent(tmp_path / "parent", 'github("someone/homogenization", path="workflow/Snakefile", branch="main")')
    assert "homogenization_make_report" in parent.ask("--dry-run", "homogenization_all", **hosted)
