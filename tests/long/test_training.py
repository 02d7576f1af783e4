"""Arms of trained models through the whole workflow: from reviews outside of the sample to tables over seeds."""

import copy

import polars as pl
import pytest

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
SECTIONS = ("components", "interventions", "consequences", "sensitivity", "claims", "extrema")


def arm(**options) -> dict:
    """An entry of `models`: two seeds, kept at the start and at the end."""
    trained = {"architecture": SMOLLM3, "vocab_size": 400, "steps": STEPS, "held_out": 10, "max_tokens": 48, **options}
    weights = {"trained": trained, "seeds": [0, 1], "snapshots": [0, STEPS]}
    return {"weights": weights, "bos": "always", "device": "cpu"}


def test_arms_are_trained_read_and_compared_and_an_edit_trains_what_it_touches(project):
    penalty = {"metric": "cosine", "strength": 1.0, "layers": [1]}
    project.config["corpus"]["shard_size"] = 12  # one shard: the small run joins shards
    project.config |= dict.fromkeys(SECTIONS) | {
        "variants": {"original": {"rewriter": "none"}},
        "metrics": ["cosine_anisotropy"],
        "models": {"rotary": arm(), "none": arm(positions="none"), "diverse": arm(penalty=penalty)},
        "arms": [["rotary", "none"], ["diverse", "rotary"]],
    }
    # one arm shows what training imports
    last = next(name for name in project.planned_files() if name.endswith(f"/{STEPS}/losses.parquet"))
    done = project.run("--cores", "2", f"results/{last}")
    assert done.returncode == 0, done.stdout
    project.make("states")
    done = project.run("--cores", "2")
    assert done.returncode == 0, done.stdout
    results = project.folder / "results"
    losses = pl.read_parquet(results / "tables/training.parquet")
    assert set(losses["arm"]) == {"rotary", "none", "diverse"}
    assert set(losses["seed"]) == {0, 1}
    counted = losses.select("n_training", "n_held_out").unique().row(0, named=True)
    n_reviews = len(pl.read_parquet(results / "corpus/clean.parquet"))
    assert counted["n_held_out"] == 10
    assert counted["n_training"] <= n_reviews - 12 - 10
    first = losses.filter(step=0).pivot(on="arm", index="seed", values="loss").sort("seed")
    assert first["rotary"].to_list() == first["diverse"].to_list() != first["none"].to_list()

    arms = pl.read_parquet(results / "tables/arms.parquet").filter(metric="cosine_anisotropy", view="all_tokens")
    assert set(arms["n_seeds"]) == {2}
    compared = arms.filter(arm="diverse", minus="rotary", layer=1, point="residual_stream")
    penalised = compared.filter(at="step").sort("step")
    assert penalised["step"].to_list() == [0, STEPS]
    assert penalised["highest"][0] == penalised["lowest"][0] == 0  # the same random weights
    assert penalised["highest"][1] < 0  # the penalty has lowered the cosine in every seed
    ends = losses.filter(step=STEPS).pivot(on="arm", index="seed", values="held_out_loss")
    both = ends.select(pl.max_horizontal("diverse", "rotary")).to_series()  # the lowest that both reach
    assert compared.filter(at="loss")["loss"].item() == pytest.approx(both.mean())
    assert {path.name for path in (results / "figures").iterdir()} >= {"training.svg", "arms"}
    answers = pl.read_csv(results / "tables/training.csv")
    assert answers["arm"].to_list() == ["diverse", "none", "rotary", "rotary", "diverse"]
    assert "after block 1, which is penalised" in answers["answer"][-1]
    assert project.planned() == {}

    models = copy.deepcopy(project.config["models"])
    project.config["models"]["diverse"]["weights"]["trained"]["penalty"]["strength"] = 2.0
    assert project.planned()["train_model"] == 2 * 2  # seeds and snapshots of one arm
    project.config["models"] = models
    project.config["models"]["none"]["weights"]["seeds"] = [0, 1, 2]
    assert project.planned()["train_model"] == 2
