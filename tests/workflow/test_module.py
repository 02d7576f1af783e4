"""The workflow in another one: as a module, and from the address of a repository."""

import copy
import re
import subprocess
from collections import Counter

import pytest
import yaml

from conftest import ROOT, SMALL, Project, copy_workflow
from parent import Parent


def test_a_configuration_in_another_folder_plans_the_same(project, tmp_path):
    """The workflow's own texts, claims and prompts are found from anywhere; results lie in the working directory."""
    elsewhere = Project(tmp_path / "elsewhere", project.config)
    elsewhere.folder.mkdir()
    assert elsewhere.planned("--snakefile", str(project.folder / "Snakefile")) == project.planned()
    assert {path.name for path in elsewhere.folder.iterdir()} == {"test.yaml", ".snakemake"}


@pytest.mark.parametrize("prefix", [None, "studies/first"])
def test_a_module_plans_what_the_workflow_plans(project, tmp_path, prefix):
    parent = Parent(tmp_path, copy.deepcopy(SMALL), homogenization=prefix)
    planned = parent.planned("homogenization_all")
    direct = project.planned()
    assert direct.total() > 50
    renamed = {f"homogenization_{rule}": count for rule, count in direct.items()}
    assert planned == Counter(renamed | {"homogenization_all": 1})
    summary = re.findall(r"^(\S+)\t", parent.ask("--summary", "homogenization_all"), re.MULTILINE)[1:]
    assert len(summary) > 100
    assert all(file.startswith(f"{prefix}/results/" if prefix else "results/") for file in summary)
    assert parent.planned() == {"mine": 1}


def test_a_wrong_key_is_named_with_its_file_and_module(tmp_path):
    parent = Parent(tmp_path, {**SMALL, "modles": {}}, homogenization=None)
    done = parent.run("--dry-run")
    assert done.returncode != 0
    assert "parent.yaml, module homogenization: 1 problem" in done.stdout
    assert "modles" in done.stdout


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
    snakefile = 'github("someone/homogenization", path="workflow/Snakefile", branch="main")'
    parent = Parent(tmp_path, copy.deepcopy(SMALL), snakefile, homogenization="study")
    planned = parent.ask("--dry-run", "homogenization_all", **hosted)
    assert "homogenization_make_report" in planned
    address = "gh:github.com:someone/homogenization@main:workflow/Snakefile"
    (parent.folder / "study.yaml").write_text(yaml.safe_dump(SMALL))
    assert "make_report" in parent.ask("--snakefile", address, "--configfile", "study.yaml", "--dry-run", **hosted)
