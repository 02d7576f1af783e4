"""A writer that never finishes an answer: its variant has no review, and the rest of the study is as without it."""

import polars as pl

from conftest import ROOT
from tiny_chat import build_chat_model

FIGURES = (*("metrics/effective_rank", "contrasts/resultant_length/without_first", "components"),)


def test_a_study_whose_writer_fails_describes_the_rest(project, tmp_path):
    weights = {"path": str(build_chat_model(tmp_path / "chat"))}
    writer = {"backend": "transformers", "weights": weights, "max_new_tokens": 1}
    project.config["writers"] = {"mute": writer}
    prompt = str(ROOT / "config/prompts/paraphrase.yaml")
    project.config["variants"]["paraphrase"] = {"rewriter": "llm", "writer": "mute", "prompt": prompt}
    project.config["rewriting"] = {"candidates": 1}
    project.config["components"] = {"variants": ["paraphrase"]}
    project.config["corpus"]["shard_size"] = 12
    pairs = [["front", "original"], ["front", "paraphrase"], ["paraphrase", "original"]]
    project.config["contrasts"] = {"pairs": pairs}
    figures = [f"results/figures/{name}.svg" for name in FIGURES]
    project.make("tables", *figures, OMP_NUM_THREADS="1")
    results = project.folder / "results"
    assert pl.read_parquet(results / "variants/paraphrase/000.parquet").is_empty()
    tables = results / "tables"
    assert pl.read_csv(tables / "rewriting.csv").select("n_rewritten", "truncated").row(0) == (0, 12)
    acceptance = {row["variant"]: row["n_accepted"] for row in pl.read_csv(tables / "acceptance.csv").to_dicts()}
    assert acceptance == {"front": 12, "paraphrase": 0}
    contrasts = pl.read_parquet(tables / "contrasts.parquet")
    needed = "at least 10 are needed"
    refused = contrasts.filter(verdict="not tested").select("variant", "minus", "reason").unique()
    assert refused.sort(pl.all()).rows() == [
        ("front", "paraphrase", f"0 of 12 reviews accepted in both; {needed}"),
        ("paraphrase", "original", f"0 of 12 reviews accepted; {needed}"),
    ]
    assert contrasts.filter(variant="front", minus="original")["mean"].is_finite().any()
    assert contrasts.filter(verdict="not tested")["mean"].is_nan().all()
    for name in ("metrics", "summary", "attention", "mauve", "depth"):
        assert set(pl.read_parquet(tables / f"{name}.parquet")["variant"]) == {"original", "front"}, name
    verdicts = pl.read_csv(tables / "claims.csv").filter(pl.col("claim").str.contains("-key-"))
    assert set(verdicts["verdict"]) == {"not tested"}
    assert "0 of 12 reviews" in (results / "logs/tables/estimate.log").read_text()
    assert "none of the 12 reviews" in (results / "logs/variants/paraphrase/000.log").read_text()
