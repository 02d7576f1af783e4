"""The catalogue of figures: each entry has its module, its caption and its tables, and nothing is without an entry."""

import copy
import importlib
import re
from dataclasses import fields

import pytest

from conftest import ROOT, SMALL, with_changes
from homogenization.config.study import load_study
from homogenization.figures.catalogue import FIGURES, drawn_figures
from homogenization.figures.shown import Shown
from homogenization.metrics.catalogue import METRIC_NAMES
from schemas import schema_of

pytestmark = pytest.mark.usefixtures("in_project")

LIBRARY = ROOT / "workflow/lib/homogenization"


def study(**changes):
    """The small study with a control, and with other values ('states.record_attention': False, ...)."""
    raw = copy.deepcopy(SMALL)
    raw["models"]["trained"] = {"weights": {"trained": {"of": {"random": {"model_type": "gpt2"}}, "steps": 1}}}
    raw["variants"]["inward"] = {"rewriter": "rules", "position": "inward", "like": "front"}
    return load_study(with_changes(raw, changes))


def module_of(name):
    return importlib.import_module(f"homogenization.figures.{FIGURES[name].module}")


def names(chosen):
    return {figure.name for figure in drawn_figures(chosen)}


def test_every_entry_has_a_caption():
    captions = {path.stem for path in (ROOT / "workflow/report").glob("*.rst")}
    rules = "".join(path.read_text("utf-8") for path in ROOT.glob("workflow/rules/*.smk"))
    of_rules = set(re.findall(r'shown_table\("(\w+)"', rules)) - {"harm"} | set(re.findall(r"report/(\w+)\.rst", rules))
    of_rules |= set(re.findall(r'caption="(\w+)"', rules))
    assert captions == set(FIGURES) | of_rules | {"workflow"}


@pytest.mark.parametrize("name", FIGURES)
def test_the_tables_of_a_figure_are_made_by_rules(name):
    assert all(map(schema_of, FIGURES[name].tables))
    # the script reads a CSV file with the columns that the module names
    csv = {table.removesuffix(".csv") for table in FIGURES[name].tables if table.endswith(".csv")}
    assert csv <= getattr(module_of(name), "COLUMNS", {}).keys()


def test_fields_are_those_of_shown_and_titles_are_given():
    known = {field.name for field in fields(Shown)}
    for figure in FIGURES.values():
        assert set(figure.shows) <= known
        assert bool(figure.title) or figure.each
    assert not set(FIGURES) & set(METRIC_NAMES)  # the configuration gives titles to both by name


def test_a_study_with_everything_draws_everything():
    everything = study(metrics=list(METRIC_NAMES))
    assert names(everything) == set(FIGURES)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({}, set()),
        (
            {"states.record_attention": False},
            {"attention_profile", "attention_heatmap", "first_token"},
        ),
        (
            {"variants": {"original": {"rewriter": "none"}}},
            {"similarity", "placement", "contrast", "balance"},
        ),
        ({"models": SMALL["models"]}, {"training"}),
        ({"contrasts.pairs": []}, {"contrast"}),
        ({"extrema": None}, {"extrema"}),
        ({"metrics": ["effective_rank"]}, {"first_token", "contrast", "extrema"}),
        ({"components": None}, {"components"}),
        ({"interventions": None}, {"dose_response", "conditions", "harm"}),
        ({"interventions.steering": None}, {"dose_response"}),
        ({"interventions.masked": []}, {"conditions"}),
        ({"consequences": None}, {"harm", "probes"}),
        ({"consequences.probes": None}, {"probes"}),
    ],
)
def test_a_study_leaves_out_what_it_has_no_tables_for(changes, missing):
    assert set(FIGURES) - names(study(**changes)) == missing


def test_a_figure_of_each_metric_has_a_file_of_each():
    small = study()
    assert list(FIGURES["metric"].files(small)) == [f"metrics/{metric}" for metric in small.tabulated_metrics]
    of_views = {"resultant_length": ("all_tokens", "without_first"), "first_token_attention_share": ("all_tokens",)}
    assert list(FIGURES["contrast"].files(small)) == [
        f"contrasts/{metric}/{view}" for metric, views in of_views.items() for view in views
    ]
    assert FIGURES["contrast"].files(small)["contrasts/resultant_length/all_tokens"] == {
        "metric": "resultant_length",
        "view": "all_tokens",
    }
    assert FIGURES["mauve"].files(small) == {"mauve": {}}


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({}, ["normalized_effective_rank", "max_explainable_variance", "cosine_anisotropy"]),
        ({"contrasts.metrics": ["n_tokens", "cosine_anisotropy"]}, ["n_tokens", "cosine_anisotropy"]),
        ({"metrics": ["participation_ratio", "n_tokens"]}, ["participation_ratio", "n_tokens"]),
        ({"figures.metrics": ["schatten_1_ratio"]}, ["schatten_1_ratio"]),
        ({"figures.metrics": ["sink_rate"], "states.record_attention": False}, []),
    ],
    ids=["nothing listed", "contrasts", "metrics", "figures", "not computed"],
)
def test_the_metrics_that_a_study_lists_are_drawn(changes, drawn):
    raw = {name: value for name, value in copy.deepcopy(SMALL).items() if name != "metrics"}
    raw |= {"interventions": None, "consequences": None}
    assert load_study(with_changes(raw, changes)).drawn_metrics == drawn


def test_attention_metrics_have_no_figure_where_attention_is_not_recorded():
    files = FIGURES["metric"].files(study(**{"states.record_attention": False}))
    assert list(files) == ["metrics/effective_rank", "metrics/resultant_length"]
