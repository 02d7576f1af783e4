"""A tiny run of short texts, of which rules move phrases in less than half: nothing is concluded from the others."""

import shutil

import polars as pl
import pytest
import yaml

from conftest import ROOT, with_changes

CURE = "Longer texts, keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more."
CLAIMS = [
    {
        "claim": "front",
        "statement": "Front makes tokens more alike.",
        "source": "this test",
        "contrast": {"metric": "cosine_anisotropy", "variant": "front", "minus": "original"},
        "above": 0,
    }
]
SECTIONS = ("mauve", "components", "interventions", "consequences", "sensitivity")


@pytest.fixture
def short_texts(project):
    """Twenty texts of 28 to 31 words, read by one model."""
    shutil.copy(ROOT / "tests/data/short_texts.jsonl", project.folder / "texts.jsonl")
    (project.folder / "claims.yaml").write_text(yaml.safe_dump(CLAIMS))
    for section in SECTIONS:
        del project.config[section]
    corpus = {"source": "texts.jsonl", "n_reviews": 20, "shard_size": 20, "min_words": 20}
    changes = {"corpus": corpus, "views": ["raw"], "metrics": ["cosine_anisotropy"], "claims": "claims.yaml"}
    changes["contrasts"] = {"draws": 200}
    project.config = with_changes(project.config, changes)
    return project


def test_texts_that_nothing_moved_in_are_no_evidence(short_texts):
    tables = short_texts.folder / "results/tables"
    wanted = [f"results/tables/{name}.csv" for name in ("acceptance", "claims", "comparisons")]
    done = short_texts.run("--cores", "2", *wanted)
    assert done.returncode == 0, done.stdout
    texts = {
        variant: dict(pl.read_parquet(file, columns=["review_id", "text"]).rows())
        for variant in ("original", "front")
        for file in (short_texts.folder / f"results/variants/{variant}").glob("*.parquet")
    }
    n_same = sum(texts["front"][name] == text for name, text in texts["original"].items())
    assert n_same > 10  # else the texts show nothing
    as_original = f"{n_same} of 20 texts are as the original"
    logs = short_texts.folder / "results/logs"
    assert f"WARNING front: {as_original}. {CURE}" in (logs / "variants/front/000.log").read_text()
    (acceptance,) = pl.read_csv(tables / "acceptance.csv").to_dicts()
    assert (acceptance["n_accepted"], acceptance["n_changed"]) == (20, 20 - n_same)
    found = (
        f"WARNING {acceptance['n_without_phrases']} of 20 texts have no key phrase: in their variants nothing moves."
    )
    assert f"{found} {CURE}" in (logs / "keyphrases/000.log").read_text()
    (comparison,) = pl.read_csv(tables / "comparisons.csv").to_dicts()
    assert not comparison["tested"]
    assert comparison["reason"].startswith(f"{as_original}; at least 10 have to differ.")
    assert set(pl.read_parquet(tables / "contrasts.parquet")["verdict"]) == {"not tested"}
    assert pl.read_csv(tables / "claims.csv")["verdict"].to_list() == ["not tested"]
