"""Language models that write are asked again where an edit changes what they are asked, and nowhere else."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from conftest import SMALL, Project, copy_workflow
from tiny_chat import build_chat_model

PROMPTS = {name: f"config/prompts/{name}.yaml" for name in ("front", "paraphrase")}
JOBS = 2  # shards
BOTH = Counter({"rewrite_with_llm": 2 * JOBS, "rewrite_sentences_with_llm": JOBS, "variants": 1})


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """The folder of a finished run of the target `variants`, two of them by a model on this machine."""
    folder = tmp_path_factory.mktemp("written") / "project"
    copy_workflow(folder)
    build_chat_model(folder / "chat")
    writer = {"backend": "transformers", "weights": {"path": "chat"}, "device": "cpu"}
    variants = {name: {"rewriter": "llm", "writer": "tiny", "prompt": prompt} for name, prompt in PROMPTS.items()}
    variants["front-lm"] = {"rewriter": "llm", "writer": "tiny", "unit": "sentence", "position": "front"}
    variants["front-lm"]["prompt"] = "config/prompts/sentence-front.yaml"
    config = SMALL | {
        "writers": {"tiny": writer | {"dtype": "float32", "max_new_tokens": 32}},
        "variants": {"original": {"rewriter": "none"}, "end": {"rewriter": "rules", "position": "end"}} | variants,
        "positional": {"variants": ["original"]},
        "rewriting": {"min_coverage": 0, "length_ratio": [0.01, 10]},
    }
    done = Project(folder, config).run("--cores", "2", "variants")
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def project(written, tmp_path) -> Project:
    shutil.copytree(written, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project", yaml.safe_load((written / "test.yaml").read_text()))


def test_an_edit_asks_again_what_it_changes(project):
    assert project.planned("variants") == Counter()

    project.config["writers"]["tiny"]["gpus"] = 2
    project.config["writers"]["tiny"]["billions"] = 7
    (project.folder / PROMPTS["front"]).touch()
    assert project.planned("variants") == Counter()

    project.edit(PROMPTS["front"], "careful editor", "careful author")
    assert project.planned("variants") == Counter({"rewrite_with_llm": JOBS, "variants": 1})
    assert {name.split("/")[1] for name in project.planned_files() if name.startswith("variants/")} == {"front"}
    project.edit(PROMPTS["front"], "careful author", "careful editor")

    project.config["rewriting"]["max_distance"] = 0.9
    assert project.planned("variants") == Counter({"rewrite_with_llm": 2 * JOBS, "variants": 1})
    project.config["rewriting"].pop("max_distance")

    project.config["rewriting"]["min_moved"] = 0.9
    assert project.planned("variants") == Counter({"rewrite_sentences_with_llm": JOBS, "variants": 1})
    project.config["rewriting"].pop("min_moved")

    project.config["writers"]["tiny"]["temperature"] = 0.1
    assert project.planned("variants") == BOTH


def test_an_edit_of_code_asks_again_those_who_run_it(project):
    library = "workflow/lib/homogenization"
    # the endpoint's client is no part of what a model on this machine writes, nor is the rewriting by rule
    project.edit(f"{library}/writers/endpoint.py", "LONGEST_REASON = 300", "LONGEST_REASON = 301")
    assert project.planned("variants") == Counter()
    project.edit(f"{library}/variants/atoms.py", "FINAL = 4", "FINAL = 2 * 2")
    assert project.planned("variants") == Counter({"rewrite_reviews": 2 * JOBS, "variants": 1})
    project.edit(f"{library}/variants/atoms.py", "FINAL = 2 * 2", "FINAL = 4")

    project.edit(f"{library}/variants/by_sentence.py", "LOSS_WEIGHT = 0.1", "LOSS_WEIGHT = 0.2")
    assert project.planned("variants") == Counter({"rewrite_sentences_with_llm": JOBS, "variants": 1})
    project.edit(f"{library}/variants/by_sentence.py", "LOSS_WEIGHT = 0.2", "LOSS_WEIGHT = 0.1")

    project.edit(f"{library}/writers/local.py", '"*.json", "*.jinja"', '"*.jinja", "*.json"')
    assert project.planned("variants") == BOTH
