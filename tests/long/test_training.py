"""Trained models through the whole workflow: from reviews outside of the sample to tables and figures."""

import polars as pl

SMOLLM3 = {
    "model_type": "smollm3",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
}
STEPS = 3
SECTIONS = ("components", "interventions", "consequences", "claims", "extrema")


def entry(positions: str = "own", **options) -> dict:
    """An entry of `models` with two seeds."""
    trained = {
        "of": {"random": SMOLLM3, "vocab_size": 400, "positions": positions},
        "steps": STEPS,
        "held_out": 10,
        "max_tokens": 48,
        **options,
    }
    weights = {"trained": trained, "seeds": [0, 1]}
    return {"weights": weights, "bos": "always", "device": "cpu"}


def test_models_are_trained_and_read_and_an_edit_trains_what_it_touches(project):
    penalty = {"metric": "cosine", "strength": 1.0, "layers": [1]}
    project.config["corpus"]["shard_size"] = 12  # one shard: the small run joins shards
    project.config |= dict.fromkeys(SECTIONS) | {
        "variants": {"original": {"rewriter": "none"}},
        "metrics": ["cosine_anisotropy"],
        "models": {"rotary": entry(), "none": entry(positions="none"), "diverse": entry(penalty=penalty)},
    }
    # one model shows what training imports
    last = next(name for name in project.planned_files() if name.endswith("/losses.parquet"))
    done = project.run("--cores", "2", f"results/{last}")
    assert done.returncode == 0, done.stdout
    project.make("states")
    done = project.run("--cores", "2")
    assert done.returncode == 0, done.stdout
    results = project.folder / "results"
    losses = pl.read_parquet(results / "tables/training.parquet")
    assert set(losses["model"]) == {f"{name}-{seed}" for name in ("rotary", "none", "diverse") for seed in (0, 1)}
    counted = losses.select("n_training", "n_held_out").unique().row(0, named=True)
    n_reviews = len(pl.read_parquet(results / "corpus/clean.parquet"))
    assert counted["n_held_out"] == 10
    assert counted["n_training"] <= n_reviews - 12 - 10
    first = dict(losses.filter(step=0).select("model", "loss").rows())
    assert first["rotary-0"] == first["diverse-0"] != first["none-0"]
    cosines = pl.read_parquet(results / "tables/summary.parquet").filter(
        metric="cosine_anisotropy", view="all_tokens", layer=1, point="residual_stream"
    )
    mean = dict(cosines.select("model", "mean").rows())
    assert all(mean[f"diverse-{seed}"] < mean[f"rotary-{seed}"] for seed in (0, 1))
    assert (results / "figures/training.svg").exists()
    assert project.planned() == {}

    project.config["models"]["diverse"]["weights"]["trained"]["penalty"]["strength"] = 2.0
    assert project.planned()["train_model"] == 2  # a model for each seed
    project.config["models"]["diverse"]["weights"]["trained"]["penalty"]["strength"] = 1.0
    project.config["models"]["none"]["weights"]["seeds"] = [0, 1, 2]
    assert project.planned()["train_model"] == 1
