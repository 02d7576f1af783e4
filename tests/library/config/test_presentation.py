"""What the configuration says about figures: the parameters of their rules."""

import copy

import pytest

from conftest import SMALL
from homogenization.config.presentation import presentation
from homogenization.config.study import load_study
from homogenization.figures.catalogue import FIGURES, drawn_figures

pytestmark = pytest.mark.usefixtures("in_project")


def study(figures=None, **changes):
    return load_study(copy.deepcopy(SMALL) | {"figures": figures or {}} | changes)


def of(name, metric=None, **figures):
    return presentation(study(figures), FIGURES[name], metric)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_gets_its_title_and_the_fields_that_it_uses(name):
    metric = "effective_rank" if FIGURES[name].metrics else None
    assert list(of(name, metric)) == ["title", *FIGURES[name].shows]


def test_models_and_variants_have_their_labels_in_the_order_of_the_configuration():
    labelled = of("mauve", labels={"tiny": "Tiny Llama", "front": "Front first"})
    assert labelled["models"] == [["tiny", "Tiny Llama"]]
    assert labelled["variants"] == [["original", "original"], ["front", "Front first"]]
    assert of("similarity", labels={"front": "Front first"})["rewritten"] == [["front", "Front first"]]


def test_the_title_of_a_figure_or_metric_can_be_given():
    assert of("mauve")["title"] == "MAUVE between consecutive layers"
    assert of("mauve", titles={"mauve": "Layers"})["title"] == "Layers"
    assert of("metric", "effective_rank")["title"] == "Effective rank"
    assert of("metric", "effective_rank", titles={"effective_rank": "Directions"})["title"] == "Directions"
    assert of("contrast", "effective_rank")["title"] == "Differences between variants: Effective rank"
    given = {"effective_rank": "Directions", "contrast": "Paired"}
    assert of("contrast", "effective_rank", titles=given)["title"] == "Paired: Directions"


def test_a_title_belongs_to_its_figure_alone():
    """Every figure whose parameters it changes is drawn again."""
    plain, titled = study(), study({"titles": {"effective_rank": "Directions"}})
    changed = {
        (figure.name, metric)
        for figure in drawn_figures(plain)
        for metric in (figure.metrics(plain) if figure.metrics else [None])
        if presentation(plain, figure, metric) != presentation(titled, figure, metric)
    }
    assert changed == {(figure, "effective_rank") for figure in ("metric", "contrast")} & {
        (figure.name, metric) for figure in drawn_figures(plain) if figure.metrics for metric in figure.metrics(plain)
    }


OF_ARMS = ("training", "arms")  # which this study lacks


@pytest.mark.parametrize(
    ("changes", "concerned"),
    [
        ({"figures": {"views": ["raw"]}}, {"metric", "contrast", "arms"}),
        ({"similarity": {**SMALL["similarity"], "threshold": 0.7}}, {"similarity"}),
        ({"contrasts": {**SMALL["contrasts"], "confidence": 0.9}}, {"contrast"}),
        ({"contrasts": {**SMALL["contrasts"], "pairs": [["original", "front"]]}}, {"contrast"}),
        (
            {"figures": {"labels": {"original": "Untouched"}}},
            set(FIGURES)
            - {
                "similarity",
                "sensitivity",
                "claims",
                "dose_response",
                "conditions",
                "susceptibility",
                "extrema",
                "harm",
            }
            - {*OF_ARMS},
        ),
        (
            {"figures": {"labels": {"tiny": "Tiny"}}},
            set(FIGURES) - {"similarity", "placement", "sensitivity", *OF_ARMS},
        ),
    ],
)
def test_an_edit_concerns_the_figures_that_show_it(changes, concerned):
    def shown_by(chosen, figure):
        return presentation(chosen, figure, "resultant_length" if figure.metrics else None)

    plain, edited = study(), study(**changes)
    assert {
        name for name, figure in FIGURES.items() if shown_by(plain, figure) != shown_by(edited, figure)
    } == concerned
