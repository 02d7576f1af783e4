"""Bad input through the whole workflow: one clear message, no traceback, no half-written file."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import torch
from safetensors.torch import load_file, save_file

from compare_runs import hidden
from conftest import ROOT


def test_a_misspelt_key_stops_everything_before_it_starts(project):
    project.config["corpus"]["n_review"] = 5
    printed = project.fails()
    assert "corpus.n_review: unknown key (did you mean 'n_reviews'?)" in printed
    assert not (project.folder / "results").exists()


def test_a_configuration_without_its_option_is_no_target(project):
    (project.folder / "mine.yaml").write_text("corpus: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", "mine.yaml"], cwd=project.folder, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "mine.yaml is a configuration and no target: snakemake --configfile mine.yaml" in done.stdout


def write_corpus(project, rows: list[dict]) -> None:
    path = project.folder / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.config["corpus"]["source"] = "corpus.jsonl"


def real_reviews(n: int) -> list[dict]:
    return [json.loads(line) for line in (ROOT / "config/reviews.jsonl").read_text().splitlines()[:n]]


CORPUS = "results/corpus/000.parquet"


def test_a_corpus_without_the_text_column(project):
    write_corpus(project, [{"review": row["text"], "label": row["label"]} for row in real_reviews(20)])
    printed = project.fails(CORPUS)
    assert "'text'" in printed
    assert "review" in printed
    assert not (project.folder / "results/corpus/raw.parquet").exists()


def test_a_corpus_with_too_few_reviews(project):
    write_corpus(project, real_reviews(4))
    project.config["corpus"]["n_reviews"] = 100
    project.config["corpus"]["shard_size"] = 50
    printed = project.fails(CORPUS)
    assert "n_reviews" in printed
    assert not (project.folder / CORPUS).exists()


OFFLINE = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_DOWNLOAD_TIMEOUT": "2"}


def test_a_hub_data_set_without_a_network(project):
    project.config["corpus"]["source"] = "stanfordnlp/imdb"
    project.config["corpus"]["revision"] = "e6281661ce1c48d982bc483cf8a173c1bbeb5d31"
    printed = project.fails(CORPUS, HF_HOME=str(project.folder / "hf"), **OFFLINE)
    for words in ("stanfordnlp/imdb", "there is no network", "corpus.source"):
        assert words in printed


def test_a_hub_model_without_a_network(finished):
    finished.config["models"]["gated"] = {"weights": {"hub": "meta-llama/Meta-Llama-3-8B"}, "device": "cpu"}
    printed = finished.fails(
        "results/states/gated/original/000.zarr.zip", HF_HOME=str(finished.folder / "hf"), **OFFLINE
    )
    for words in ("meta-llama/Meta-Llama-3-8B", "there is no network", "weights: {path: ...}"):
        assert words in printed
    assert not (finished.folder / "results/states/gated/original/000.json").exists()


def own_model(project, edit) -> str:
    """A model folder made from the finished run's random model, edited; its states as the target."""
    folder = project.folder / "own-model"
    shutil.copytree(project.folder / "results/models/tiny", folder)
    edit(folder)
    project.config["models"]["own"] = {"weights": {"path": "own-model"}, "device": "cpu"}
    return "results/states/own/original/000.zarr.zip"


def test_non_finite_states(finished):
    def spoil(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        name = next(name for name in tensors if "layers.1.mlp.down_proj" in name)
        tensors[name] = torch.full_like(tensors[name], torch.inf)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    target = own_model(finished, spoil)
    printed = finished.fails(target)
    assert "finite" in printed
    assert "own" in printed
    assert not (finished.folder / target).exists()
    assert hidden(finished.folder / "results") == []


def test_reviews_longer_than_the_context_are_cut_and_counted(finished):
    finished.config["models"]["tiny"]["max_tokens"] = 50
    printed = finished.make("results/tables/long_texts.csv", "plan")
    read = pl.read_csv(finished.folder / "results/tables/long_texts.csv")
    assert read["variant"].to_list() == ["front", "original"]
    assert (read["n_cut"] + read["n_left_out"]).to_list() == [12, 12]
    assert (read["n_tokens"] <= 50 * read["n_reviews"]).all()
    announced = f"models.tiny: of 24 texts of all variants, {read['n_cut'].sum()} are cut at a sentence end"
    assert f"warning: {announced}" in printed
    assert announced in (finished.folder / "results/logs/tables/tabulate_extraction.log").read_text()
    planned = pl.read_csv(finished.folder / "results/plan/plan.csv").row(0, named=True)
    assert (planned["reviews_cut"], planned["reviews_left_out"]) == (read["n_cut"].sum(), read["n_left_out"].sum())
    assert planned["tokens"] == read["n_tokens"].sum()


def test_no_review_is_similar_enough(finished):
    """The run comes to its end and describes the originals; what it would have compared is not tested."""
    finished.config["similarity"]["threshold"] = 1.0
    finished.make("tables")
    comparisons = (finished.folder / "results/tables/comparisons.csv").read_text()
    assert "0 of 12 reviews" in comparisons
    assert "not tested" in (finished.folder / "results/tables/claims.csv").read_text()
