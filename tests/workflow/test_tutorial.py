"""The tutorial: its configurations are valid, a dry run plans its jobs, its code runs on a finished run."""

import re
import shutil

import yaml
from snakemake.utils import update_config

from conftest import ROOT, Project, copy_workflow
from homogenization.config.study import load_study
from homogenization.reading.results import Results
from loaded_rules import rules_of
from pages import DOCS

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_configuration_plans_as_many_jobs_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    six, own_model = (yaml.safe_load(block) for block in blocks("yaml"))
    written = [line for line in blocks("yaml")[0].splitlines() if not line.startswith("#")]
    assert len(written) <= 6
    both = {**six, "models": dict(six["models"])}
    update_config(both, own_model)
    assert list(load_study(both).models) == ["minilm", "smollm2"]
    copy_workflow(tmp_path / "project")
    (tmp_path / "project/docs").mkdir()
    shutil.copy(DOCS / "recipes.csv", tmp_path / "project/docs")
    planned = Project(tmp_path / "project", six).planned()
    number, rule = re.search(r"among them (\d+) of `(\w+)`", PAGE).groups()
    assert planned[rule] == int(number)


def test_captions_read_the_variants_that_the_configuration_leaves_out():
    report = next(rule for rule in rules_of(yaml.safe_load(blocks("yaml")[0])) if rule.name == "make_report")
    assert list(report.params["config"]["variants"]) == ["original", "front", "front-inward"]


def test_the_code_runs(finished_run, capsys):
    code = "".join(blocks("python"))
    assert 'open_results("results/recipes")' in code
    names = {}
    exec(compile(code.replace("results/recipes", str(finished_run / "results")), "docs/tutorial.md", "exec"), names)
    assert isinstance(names["results"], Results)
    assert "n_sentences_moved" in capsys.readouterr().out
