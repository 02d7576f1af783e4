"""Trained models through the whole workflow: from reviews outside of the sample to tables and figures; and a kill."""

import re
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil

from conftest import LLAMA

SMOLLM3 = LLAMA | {"model_type": "smollm3", "num_hidden_layers": 2}
STEPS = 100
SECTIONS = ("components", "interventions", "consequences", "claims")


def entry(fields: dict | None = None, **options) -> dict:
    """An entry of `models` with two seeds."""
    weights = {"trained": {"of": {"random": SMOLLM3 | (fields or {})}, "steps": STEPS, **options}, "seeds": [0, 1]}
    return {"weights": weights, "bos": "always"}


def test_models_are_trained_and_read_and_an_edit_trains_what_it_touches(project):
    project.config["corpus"]["shard_size"] = 12  # one shard: the small run joins shards
    project.config |= dict.fromkeys(SECTIONS) | {
        "variants": {"original": {"rewriter": "none"}},
        "metrics": ["cosine_anisotropy"],
        "models": {
            "rotary": entry(),
            "none": entry({"no_rope_layers": [0, 0]}),
            "diverse": entry(penalty={"weight": 1.0}),
        },
    }
    # one model shows what training imports
    losses = next(name for name in project.planned_files() if name.endswith("/losses.parquet"))
    done = project.run("--cores", "2", f"results/{losses}")
    assert done.returncode == 0, done.stdout
    whole = kill_and_run_again(project, project.folder / "results" / Path(losses).parent)
    assert (project.folder / "results" / losses).with_name("model.safetensors").read_bytes() == whole
    project.make("states")
    done = project.run("--cores", "2")
    assert done.returncode == 0, done.stdout
    tables = project.folder / "results/tables"
    losses = pl.read_parquet(tables / "training.parquet")
    assert set(losses["model"]) == {f"{name}-{seed}" for name in ("rotary", "none", "diverse") for seed in (0, 1)}
    counted = losses.select("n_training", "n_held_out").unique().row(0, named=True)
    n_reviews = len(pl.read_parquet(project.folder / "results/corpus/clean.parquet"))
    assert counted["n_training"] + counted["n_held_out"] <= n_reviews - 12
    first = dict(losses.filter(step=0).select("model", "loss").rows())
    assert first["rotary-0"] == first["diverse-0"] != first["none-0"]
    penalties = pl.read_parquet(tables / "penalties.parquet").filter(view="without_first")
    assert set(penalties.select("model", "control", "n_seeds").rows()) == {("diverse", "rotary", 2)}
    assert penalties.filter(pl.col("layer") > 0)["mean"].min() < 0
    assert (project.folder / "results/figures/training.svg").exists()
    assert project.planned() == {}

    project.config["models"]["diverse"]["weights"]["trained"]["penalty"]["weight"] = 2.0
    assert project.planned()["train_model"] == 2  # a model for each seed
    project.config["models"]["diverse"]["weights"]["trained"]["penalty"]["weight"] = 1.0
    project.config["models"]["none"]["weights"]["seeds"] = [0, 1, 2]
    assert project.planned()["train_model"] == 1


def kill_and_run_again(project, trained: Path) -> bytes:
    """Train a model once more, kill its job on the way and run the command again; the weights of the first time."""
    weights = trained / "model.safetensors"
    before = weights.read_bytes()
    weights.unlink()
    checkpoints = Path(f"{trained}.checkpoints")
    target = f"results/training/{trained.name}/model.safetensors"
    command = [sys.executable, "-m", "snakemake", *project._arguments("--cores", "1", target)]
    with subprocess.Popen(command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not any(checkpoints.glob("*/checkpoint-4?/trainer_state.json")):
            assert run.poll() is None, "it ended without a checkpoint"
            time.sleep(0.01)
        for process in psutil.Process(run.pid).children(recursive=True):
            process.kill()
        assert run.wait() != 0
    assert not weights.exists()
    done = project.run("--cores", "1", target)
    assert done.returncode == 0, done.stdout
    log = (project.folder / f"results/logs/training/{trained.name}.log").read_text()
    assert min({int(step) for step in re.findall(rf"(\d+)/{STEPS} ", log)} - {0}) > 40, "it went on"
    assert not checkpoints.exists()
    return before
