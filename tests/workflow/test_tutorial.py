"""The tutorial: its configuration plans the jobs that it names, and its code runs on a finished run."""

import re
import shutil

import yaml

from conftest import Project, copy_workflow
from pages import DOCS, blocks

PAGE = "tutorial.md"


def test_the_configuration_plans_as_many_jobs_as_the_page_says(tmp_path):
    copy_workflow(tmp_path / "project")
    (tmp_path / "project/docs").mkdir()
    shutil.copy(DOCS / "recipes.csv", tmp_path / "project/docs")
    planned = Project(tmp_path / "project", yaml.safe_load(blocks("yaml", PAGE)[0])).planned()
    number, rule = re.search(r"among them (\d+) of `(\w+)`", (DOCS / PAGE).read_text(encoding="utf-8")).groups()
    assert planned[rule] == int(number)


def test_the_code_runs(finished_run):
    code = "".join(blocks("python", PAGE))
    assert "results/recipes" in code
    exec(compile(code.replace("results/recipes", str(finished_run / "results")), PAGE, "exec"), {})
