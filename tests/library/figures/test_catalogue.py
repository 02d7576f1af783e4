"""Which figures a study has: on its page, in the order of the page, each with a caption and its looks."""

import copy

import pytest

from conftest import SMALL, with_changes
from homogenization.config.presentation import shown_of
from homogenization.config.study import load_study
from homogenization.figures.catalogue import FIGURES, drawn_metrics, figures_of, page_figures

pytestmark = pytest.mark.usefixtures("in_project")
BLOCKS = {"words": "words", "few": 4, "more": 16}


def study(**changes):
    """The small study with a control, a ladder of disorder and more metrics, and with other values."""
    raw = copy.deepcopy(SMALL)
    raw["models"]["trained"] = {"weights": {"trained": {"of": {"random": {"model_type": "gpt2"}}, "steps": 1}}}
    raw["variants"]["inward"] = {"rewriter": "rules", "position": "inward", "like": "front"}
    raw["variants"] |= {name: {"rewriter": "order", "blocks": blocks} for name, blocks in BLOCKS.items()}
    raw["metrics"] += ["cosine_anisotropy", "normalized_effective_rank", "n_tokens"]
    return load_study(with_changes(raw, changes))


def kinds(chosen):
    return {figure.function.partition(".")[2] for figure in figures_of(chosen)}


def test_a_study_with_everything_draws_everything():
    assert kinds(study()) == set(FIGURES)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"variants.few": None, "variants.more": None}, {"disorder", "disorder_depth"}),
        ({"variants.few": None}, set()),  # two rungs are a ladder
        ({"models": SMALL["models"]}, {"training"}),
        ({"components": None}, {"components"}),
        ({"corpus.label_column": None}, {"probes"}),
    ],
)
def test_a_study_leaves_out_what_it_has_no_tables_for(changes, missing):
    assert set(FIGURES) - kinds(study(**changes)) == missing


def test_the_page_begins_with_disorder_and_one_token_and_shows_headline_metrics():
    shown = page_figures(study())
    assert [(figure.name, figure.section) for figure in shown[:2]] == [("disorder", "Answer"), ("one_token", "Answer")]
    metrics = {figure.name for figure in shown if figure.name.startswith("metrics/")}
    names = {figure.name for figure in figures_of(study()) if figure.name.startswith("contrasts/cosine_anisotropy")}
    assert names == {"contrasts/cosine_anisotropy/without_first"}
    assert metrics == {"metrics/cosine_anisotropy", "metrics/normalized_effective_rank"}


def test_a_study_that_lists_metrics_for_contrasts_draws_these():
    raw = {name: value for name, value in SMALL.items() if name not in ("metrics", "interventions", "consequences")}
    chosen = with_changes(copy.deepcopy(raw), {"contrasts.metrics": ["n_tokens", "cosine_anisotropy"]})
    assert drawn_metrics(load_study(chosen)) == ["cosine_anisotropy"]


def test_labels_are_in_the_order_of_the_study_and_the_ladder_in_that_of_disorder():
    shown = shown_of(study(**{"figures.labels": {"tiny": "Tiny", "front": "Front first"}}))
    assert shown["variants"]["front"] == "Front first"
    assert shown["ladder"] == ["few", "more", "words"]
