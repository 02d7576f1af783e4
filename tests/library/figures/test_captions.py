"""The captions of the report: rendered as Snakemake renders them."""

from types import SimpleNamespace

import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined

from conftest import ROOT
from homogenization.figures.catalogue import FIGURES

CAPTIONS = sorted((ROOT / "workflow" / "report").glob("*.rst"))
CONFIG = {
    "corpus": {"source": "reviews.jsonl", "n_reviews": 64},
    "variants": {"original": {"rewriter": "none"}, "front": {"rewriter": "rules", "position": "front"}},
    "models": {"small": {"weights": {"hub": "someone/small"}}, "control": {"weights": {"random": {"x": 1}}}},
}


def rendered(caption, params, config):
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string(caption.read_text(encoding="utf-8"))
    told = SimpleNamespace(config=config, params=SimpleNamespace(**params))
    return template.render(snakemake=told)


def in_html(text):
    html = publish_parts(text, writer="html", settings_overrides={"report_level": 1})["body"]
    assert "system-message" not in html
    assert not {"{{", "{%", "}}", "%}"} & {html[at : at + 2] for at in range(len(html))}
    return html


@pytest.mark.parametrize("caption", CAPTIONS, ids=lambda path: path.stem)
def test_captions_render(caption):
    figure = {"title": "The title", "shared": {"threshold": 0.85, "max_imbalance": 0.3}}
    params = {"shown": {"model": "The model"}, **dict.fromkeys(FIGURES, figure)}
    params["tables"] = {"tables.similarity": {"threshold": 0.85}, "statistics.contrasts": {"min_reviews": 7}}
    assert in_html(rendered(caption, params, CONFIG))
