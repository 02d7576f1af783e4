"""The tutorial and the page on results: the configuration plans what it says, the code runs on a finished run."""

import re
import shutil

import pytest
import yaml

from conftest import Project, copy_workflow
from pages import DOCS, blocks


def test_the_configuration_plans_as_many_jobs_as_the_page_says(tmp_path):
    copy_workflow(tmp_path / "project")
    (tmp_path / "project/docs").mkdir()
    shutil.copy(DOCS / "recipes.csv", tmp_path / "project/docs")
    planned = Project(tmp_path / "project", yaml.safe_load(blocks("yaml", "tutorial.md")[0])).planned()
    number, rule = re.search(r"among them (\d+) of `(\w+)`", (DOCS / "tutorial.md").read_text("utf-8")).groups()
    assert planned[rule] == int(number)


@pytest.mark.parametrize("page", ["tutorial.md", "reading.md"])
def test_the_code_runs(page, finished_run):
    code = "".join(blocks("python", page))
    code = re.sub(r'"results/\w+"', repr(str(finished_run / "results")), code)
    # a metric that the small run contrasts
    code = re.sub(r'"normalized_effective_rank", view="\w+"', '"resultant_length", view="all_tokens"', code)
    exec(compile(code, page, "exec"), {})
