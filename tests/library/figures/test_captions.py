"""The captions of the report: rendered as Snakemake renders them."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined

from conftest import ROOT

CAPTIONS = sorted((ROOT / "workflow" / "report").glob("*.rst"))
MADE = {"software": "a 1.0", "digest": "0123456789abcdef", "weights": {"m": "fedcba9876543210" * 4}}
MADE |= {"configuration": "x: <b>\n"}
SAID = {
    "workflow": ["front", "someone/small", "64", 'id="first-page"'],
    "claims": ["criterion"],
    "claims_table": ["press a claim"],
    "texts": ["The model"],
    "acceptance": ["0.85"],
    "audit": ["well-formed"],
    "soundness": [".5 is guessing"],
    "rewriting": ["median words"],
    "long_texts": ["same sentences"],
    "comparisons": ["fewer than 7 such reviews"],
    "doses": ["n_sink_moved"],
    "training_in_words": ["learnt as much"],
    "metric": ["name stands above"],
    "harm_table": ["n_sink_moved"],
    "balance": ["The title", "±0.3"],
    "curves": ["with the Tab key"],
}
CONFIG = {
    "corpus": {"source": "reviews.jsonl", "n_reviews": 64},
    "variants": {"original": {"rewriter": "none"}, "front": {"rewriter": "rules", "position": "front"}},
    "models": {"small": {"weights": {"hub": "someone/small"}}, "control": {"weights": {"random": {"x": 1}}}},
}


def rendered(caption, params, config, files=()):
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string(caption.read_text(encoding="utf-8"))
    told = SimpleNamespace(config=config, params=SimpleNamespace(**params))
    return template.render(snakemake=told, files=[SimpleNamespace(path=Path(path)) for path in files])


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    """The files that the first page includes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/tables").mkdir(parents=True)
    (tmp_path / "results/report").mkdir()
    (tmp_path / "results/report/first_page.html").write_text('<!doctype html><main id="first-page">A grid.</main>')


def in_html(text):
    html = publish_parts(text, writer="html", settings_overrides={"report_level": 1})["body"]
    assert "system-message" not in html
    assert not {"{{", "{%", "}}", "%}"} & {html[at : at + 2] for at in range(len(html))}
    return html


@pytest.mark.parametrize("caption", CAPTIONS, ids=lambda path: path.stem)
def test_captions_render(caption):
    # a rule of one figure has a title, one of a kind the kind
    params = {"title": "The title", "kind": "The title", "threshold": 0.85, "min_reviews": 7, "max_imbalance": 0.3}
    params["shown"] = {"model": "The model"}
    text = rendered(caption, params, CONFIG)
    html = in_html(text)
    assert ":math:" not in text
    wanted = SAID.get(caption.stem, ["The title"])
    assert all(word in html for word in wanted)


@pytest.mark.parametrize(
    ("changes", "told", "untold"),
    [
        ({}, ["A control answers one question"], []),
        ({"variants": {"original": {"rewriter": "none"}}}, [], ["A control answers"]),
        ({"claims": None}, ["reviews.jsonl"], ["Made by"]),
        ({"provenance": MADE}, ["Made by</strong> a 1.0", "0123456789abcdef", "fedcba9876543210", "x: &lt;b&gt;"], []),
    ],
)
def test_the_first_page_is_that_of_the_study(changes, told, untold):
    page = " ".join(in_html(rendered(ROOT / "workflow/report/workflow.rst", {}, CONFIG | changes)).split())
    assert [words for words in told if words not in page] == []
    assert [words for words in untold if words in page] == []
    assert page.count('id="first-page"') == 1


@pytest.mark.parametrize("name", ["training"])
def test_the_first_page_has_what_tables_say_in_words(name, tmp_path):
    """Snakemake shows pictures; a table it only offers for download."""
    path = f"results/tables/{name}.csv"
    columns = ("arm,minus,", "tuned,,") if name == "training" else ("model,", "small,")
    (tmp_path / path).write_text(f'{columns[0]}answer\n{columns[1]}"What was found, in `front`."\n{columns[1]}None.\n')
    files = [path, "results/tables/harm.csv"]
    labels = {"small": "Small, causal", "tuned": "Tuned (1)", "front": "Moved first", "control": None}
    provenance = MADE | {"weights": {"small": "0" * 64}, "configuration": ""}
    config = CONFIG | {"figures": {"labels": labels}, "provenance": provenance}
    page = in_html(rendered(ROOT / "workflow/report/workflow.rst", {}, config, files))
    assert page.count("What was found, in <cite>Moved first</cite>.") == 1
    assert page.count("None.") == 1
    assert page.count(labels[columns[1].partition(",")[0]]) >= 2
    assert f"<strong>{name.capitalize()}" in page
    written = re.sub(r"<[^>]*>|someone/small|moved: front", "", page)
    assert not re.findall(r"\b(small|tuned|front)\b", written)
