"""What the configuration says about figures: the parameters of their rules."""

import copy

import pytest
from snakemake.io import apply_wildcards

from conftest import SMALL
from homogenization.config.presentation import drawn_files, parameters, presentation
from homogenization.config.study import load_study
from homogenization.figures.catalogue import FIGURES, drawn_figures


def study(figures=None, **changes):
    return load_study(copy.deepcopy(SMALL) | {"figures": figures or {}} | changes)


def of(name, metric=None, **figures):
    return presentation(study(figures), FIGURES[name], of_file(name, metric))


def of_file(name, metric="resultant_length"):
    """The fields of a file of a kind."""
    kinds = {"contrast": {"metric": metric, "view": "raw"}}
    return kinds.get(name, {"metric": metric} if FIGURES[name].each else {})


def parameters_of(chosen, name):
    """What the rule of a figure gives its script."""
    return parameters(chosen, FIGURES[name])


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_gets_its_title_and_the_fields_that_it_uses(name):
    assert set(of(name, "effective_rank")) == {"title", *FIGURES[name].shows}


def test_what_the_files_of_a_kind_share_is_said_once_and_what_differs_by_file():
    told = parameters_of(study({"titles": {"effective_rank": "Directions"}}), "metric")
    metrics = ["effective_rank", "resultant_length", "first_token_attention_share"]
    assert [own["metric"] for own in told["each"]] == metrics
    assert told["each"][0] == {
        "title": "Directions",
        "metric": "effective_rank",
        "label": "effective rank, exp H(σ/Σσ) †",
    }
    assert told["shared"]["models"] == [["tiny", "tiny"]]
    assert parameters_of(study(), "mauve")["each"] == [{"title": "MAUVE between consecutive layers"}]


def test_files_are_svg_and_pdf_and_the_report_has_the_svg_of_headline_metrics_alone():
    chosen = load_study(
        copy.deepcopy(SMALL)
        | {"metrics": ["effective_rank", "normalized_effective_rank"], "interventions": None, "consequences": None}
    )
    files = dict(drawn_files(chosen, FIGURES["metric"]))
    metrics = ("effective_rank", "normalized_effective_rank")
    assert list(files) == [f"metrics/{metric}.{suffix}" for metric in metrics for suffix in ("svg", "pdf")]
    entry = files.pop("metrics/normalized_effective_rank.svg")
    assert entry["labels"] == {"title": "Normalised effective rank"}
    assert not any(files.values())


def test_braces_of_a_title_are_no_wildcards_of_snakemake():
    chosen = study({"titles": {"mauve": "Layers {all}"}})
    ((_, entry), _) = drawn_files(chosen, FIGURES["mauve"])
    label = entry["labels"]["title"]
    assert label.replace("\N{ZERO WIDTH SPACE}", "") == "Layers {all}"
    assert apply_wildcards(label, {}) == label
    assert parameters_of(chosen, "mauve")["each"] == [{"title": "Layers {all}"}]


def test_models_and_variants_have_their_labels_in_the_order_of_the_configuration():
    labelled = of("mauve", labels={"tiny": "Tiny Llama", "front": "Front first"})
    assert labelled["models"] == [["tiny", "Tiny Llama"]]
    assert labelled["variants"] == [["original", "original"], ["front", "Front first"]]
    assert of("similarity", labels={"front": "Front first"})["rewritten"] == [["front", "Front first"]]


@pytest.mark.parametrize("name", ["mauve", "components"])
def test_the_label_of_a_variant_that_a_figure_can_not_show_does_not_redraw_it(name):
    sections = {"mauve": {**SMALL["mauve"], "variants": ["original"]}, "components": {"variants": ["original"]}}
    plain, front, original = (
        presentation(study({"labels": labels}, **sections), FIGURES[name])
        for labels in ({}, {"front": "Front first"}, {"original": "Untouched"})
    )
    assert plain == front != original


def test_the_title_of_a_figure_or_metric_can_be_given():
    assert of("mauve")["title"] == "MAUVE between consecutive layers"
    assert of("mauve", titles={"mauve": "Layers"})["title"] == "Layers"
    assert of("metric", "effective_rank")["title"] == "Effective rank"
    assert of("metric", "effective_rank", titles={"effective_rank": "Directions"})["title"] == "Directions"
    assert (
        of("contrast", "effective_rank")["title"] == "Differences between variants: Effective rank; as is, all tokens"
    )
    given = {"effective_rank": "Directions", "contrast": "Paired"}
    assert of("contrast", "effective_rank", titles=given)["title"] == "Paired: Directions; as is, all tokens"


def test_a_title_belongs_to_its_figure_alone():
    """Every figure whose parameters it changes is drawn again."""
    plain, titled = study(), study({"titles": {"effective_rank": "Directions"}})
    changed = {
        file
        for figure in drawn_figures(plain)
        for file, fields in figure.files(plain).items()
        if presentation(plain, figure, fields) != presentation(titled, figure, fields)
    }
    assert changed == {"metrics/effective_rank"}  # which this study does not contrast
    assert {
        figure.name
        for figure in drawn_figures(plain)
        if parameters_of(plain, figure.name) != parameters_of(titled, figure.name)
    } == {"metric"}


@pytest.mark.parametrize(
    ("changes", "concerned"),
    [
        ({"figures": {"views": ["raw"]}}, {"metric"}),
        ({"similarity": {**SMALL["similarity"], "threshold": 0.7}}, {"similarity"}),
        ({"contrasts": {**SMALL["contrasts"], "confidence": 0.9}}, {"contrast"}),
        ({"contrasts": {**SMALL["contrasts"], "pairs": [["original", "front"]]}}, {"contrast"}),
        (
            {"figures": {"labels": {"original": "Untouched"}}},
            set(FIGURES) - {"similarity", "placement", "dose_response", "conditions", "extrema", "harm", "training"},
        ),
        (
            {"figures": {"labels": {"tiny": "Tiny"}}},
            set(FIGURES) - {"similarity", "placement"},
        ),
    ],
)
def test_an_edit_concerns_the_figures_that_show_it(changes, concerned):
    def shown_by(chosen, figure):
        return presentation(chosen, figure, of_file(figure.name))

    plain, edited = study(), study(**changes)
    assert {
        name for name, figure in FIGURES.items() if shown_by(plain, figure) != shown_by(edited, figure)
    } == concerned
