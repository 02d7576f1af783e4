"""Language models that write in the job: asked once, and again where an edit changes what is asked."""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from conftest import SMALL, Project, copy_workflow
from tiny_chat import KEY_PHRASES, build_chat_model

PROMPTS = {name: f"config/prompts/{name}.yaml" for name in ("front", "paraphrase")}
JOBS = 2  # shards
# what the model writes, and what is made of its key phrases by rule
ALL = Counter({"rewrite_with_llm": 2 * JOBS, "variants": 1})
ALL |= {"extract_keyphrases_with_llm": JOBS, "rewrite_reviews": 2 * JOBS}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """The folder of a finished run of the target `variants`, two of them by a model on this machine."""
    folder = tmp_path_factory.mktemp("written") / "project"
    copy_workflow(folder)
    build_chat_model(folder / "chat")
    writer = {"backend": "transformers", "weights": {"path": "chat"}, "dtype": "float32"}
    sampling = {"batch_size": 4, "temperature": 1.0, "top_p": 1.0, "max_new_tokens": 32}
    variants = {name: {"rewriter": "llm", "writer": "tiny", "prompt": prompt} for name, prompt in PROMPTS.items()}
    config = SMALL | {
        "writers": {"tiny": writer | sampling},
        "keyphrases": {"scorer": "llm", "writer": "tiny", "prompt": "config/prompts/keyphrases.yaml"},
        "variants": {"original": {"rewriter": "none"}, "end": {"rewriter": "rules", "position": "end"}} | variants,
        # the model says the same few things about every film, so it is held to nothing but to say something
        "rewriting": {"candidates": 4, "min_coverage": 0, "max_distance": 1.0, "length_ratio": [0.01, 10]},
    }
    done = Project(folder, config).run("--cores", "2", "variants", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def project(written, tmp_path) -> Project:
    shutil.copytree(written, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project", yaml.safe_load((written / "test.yaml").read_text()))


def test_an_edit_asks_again_what_it_changes(project):
    assert project.planned("variants") == Counter()

    (project.folder / PROMPTS["front"]).touch()
    assert project.planned("variants") == Counter()

    project.edit(PROMPTS["front"], "careful editor", "careful author")
    assert project.planned("variants") == Counter({"rewrite_with_llm": JOBS, "variants": 1})
    assert {name.split("/")[1] for name in project.planned_files() if name.startswith("variants/")} == {"front"}
    project.edit(PROMPTS["front"], "careful author", "careful editor")

    project.config["rewriting"]["max_distance"] = 0.9
    assert project.planned("variants") == Counter({"rewrite_with_llm": 2 * JOBS, "variants": 1})
    project.config["rewriting"]["max_distance"] = 1.0

    project.config["writers"]["tiny"]["temperature"] = 0.1
    assert project.planned("variants") == ALL


def test_an_answer_that_is_there_is_not_asked_for_again(project):
    results = project.folder / "results"
    phrases = pl.read_parquet(results / "keyphrases/000.parquet")["phrase"]
    assert not phrases.is_empty()
    assert set(phrases) <= set(KEY_PHRASES)
    made = {path: pl.read_parquet(path) for path in sorted(results.glob("variants/paraphrase/*.parquet"))}
    assert not made[results / "variants/paraphrase/000.parquet"].is_empty()
    log = results / "logs/variants/paraphrase/000.log"
    assert "Loading weights" in log.read_text()
    # the job runs again, and finds every answer before it loads the model
    project.make("variants", "--forcerun", "rewrite_with_llm", OMP_NUM_THREADS="1")
    assert "Loading weights" not in log.read_text()
    assert all(pl.read_parquet(path).equals(table) for path, table in made.items())
