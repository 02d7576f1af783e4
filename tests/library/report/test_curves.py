"""The page of curves: its numbers are the tables', all of them can be chosen, and it asks for nothing outside."""

import json
import logging
import re
from itertools import product

import altair as alt
import numpy as np
import polars as pl
import pytest
import vl_convert

from conftest import ROOT
from drawings import MODELS, VARIANTS
from homogenization.config.presentation import curves_page_parameters as shown_of
from homogenization.config.study import load_study
from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.figures.style import variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.measures.views import VIEWS as ALL_VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.points import FINAL_NORM
from homogenization.report import curves
from homogenization.report.curve_rows import VERDICTS, view_shown
from homogenization.run.errors import HomogenizationError
from homogenization.run.yaml_files import read_yaml
from library.figures.example_tables import DEEPER, PAIRS
from library.report.examples import (
    CONTRASTED,
    METRICS,
    TEMPLATE,
    VIEWS,
    Elements,
    contrasts_of,
    described,
    inputs,
    page_of,
    param,
    spec_of,
    summary_of,
    views_of,
)


@pytest.fixture(scope="module")
def page():
    return page_of()


@pytest.fixture(scope="module")
def spec(page):
    return spec_of(page)


def cells_by_place(spec) -> dict[int, tuple[str, str]]:
    """(metric, label of the view) of each cell, by its place."""
    labels = [cell["view"] for cell in param(spec, "cells")]
    return {
        place: (metric, labels[place])
        for metric, about in param(spec, "about").items()
        for place in about["cells"].values()
    }


def by_point(rows, spec, names):
    """The numbers of the page as rows of (metric, view, model, …, final, layer) -> numbers by column of the tables."""
    cells, points, verdicts = cells_by_place(spec), param(spec, "points"), param(spec, "verdicts")
    found = {}
    for row in rows:
        depths, layers = points[row["m"]]["depth"], points[row["m"]]["layer"]
        for place, (depth, layer) in enumerate(zip(depths, layers, strict=True)):
            mean = row["mean"][place]
            numbers = {
                "mean": mean,
                "ci_low": mean - row["below"][place],
                "ci_high": mean + row.get("above", row["below"])[place],
                "n_reviews": row["n"][place] if isinstance(row["n"], list) else row["n"],
            }
            if "bound" in row:
                numbers |= {"depth_range": row["range"], "bound": row["bound"]}
                numbers["verdict"] = verdicts[row["verdict"][place]]
            key = (*cells[row["c"]], MODELS[row["m"]][0], *names(row), depth is None, layer)
            assert key not in found
            found[key] = numbers
    return found


def of_table(table, names, columns):
    return {
        (
            row["metric"],
            view_label(row["view"]),
            row["model"],
            *(row[name] for name in names),
            row["point"] == FINAL_NORM,
            row["layer"],
        ): {name: row[name] for name in columns}
        for row in table.iter_rows(named=True)
    }


def require_equal(found, wanted):
    assert found.keys() == wanted.keys()
    for key, numbers in wanted.items():
        # three digits of an interval, five of a mean
        near = 6e-4 * (numbers["ci_high"] - numbers["ci_low"]) + 6e-5 * abs(numbers["mean"])
        assert {name: value for name, value in found[key].items() if name != "verdict"} == pytest.approx(
            {name: value for name, value in numbers.items() if name != "verdict"}, rel=1e-5, abs=near
        ), key
        assert found[key].get("verdict") == numbers.get("verdict")


ESTIMATE = ("mean", "ci_low", "ci_high", "n_reviews")


def test_the_specification_is_one_of_vega_lite(spec):
    alt.VConcatChart.from_dict(spec)  # validates it


def test_the_curves_are_those_of_the_table(spec):
    found = by_point(spec["datasets"]["curves"], spec, lambda row: [VARIANTS[row["v"]][0]])
    require_equal(found, of_table(summary_of(), ("variant",), ESTIMATE))


def test_the_differences_are_those_of_the_table_with_their_verdicts(spec):
    found = by_point(spec["datasets"]["differences"], spec, lambda row: PAIRS[row["p"]])
    table = contrasts_of().with_columns(bound=0.02 * pl.lit(3.0))
    require_equal(found, of_table(table, ("variant", "minus"), (*ESTIMATE, "verdict", "depth_range", "bound")))
    assert param(spec, "verdicts") == list(VERDICTS)


@pytest.mark.parametrize("wider", [1.0, 2.0])
def test_an_interval_is_stored_once_where_it_is_symmetric(wider):
    table = summary_of().with_columns(ci_low=pl.col("mean") - 0.25, ci_high=pl.col("mean") + wider * 0.25)
    spec = spec_of(page_of(table))
    assert {"above" in row for row in spec["datasets"]["curves"]} == {wider != 1}
    found = by_point(spec["datasets"]["curves"], spec, lambda row: [VARIANTS[row["v"]][0]])
    require_equal(found, of_table(table, ("variant",), ESTIMATE))


def test_points_have_the_depth_of_their_layer_and_none_after_the_final_norm(spec):
    for points, blocks in zip(param(spec, "points"), DEEPER.values(), strict=True):
        assert points["depth"] == [*(layer / blocks for layer in range(blocks + 1)), None]
        assert points["layer"] == [*range(blocks + 1), blocks]


def test_everything_can_be_chosen_headlines_first(spec):
    chosen = inputs(spec)
    assert chosen["metric"]["options"] == [*CONTRASTED, "effective_rank", "first_token_norm"]
    assert chosen["metric"]["labels"] == [describe_metric(name).title for name in chosen["metric"]["options"]]
    assert chosen["view"]["options"] == list(VIEWS)
    assert chosen["pair"]["labels"] == [f"{dict(VARIANTS)[one]} minus {dict(VARIANTS)[other]}" for one, other in PAIRS]
    assert [chosen[f"m{place}"]["name"] for place in range(2)] == [label for _, label in MODELS]
    assert [chosen[f"v{place}"]["name"] for place in range(4)] == [label for _, label in VARIANTS]
    wanted = {(metric, view_label(view)) for metric in METRICS for view in views_of(metric)}
    assert set(cells_by_place(spec).values()) == wanted
    # every input has its place on the page
    places = {attributes.get("id") for _, attributes in Elements(page_of()).elements}
    assert {bind["element"].removeprefix("#") for bind in chosen.values()} <= places


def test_the_page_opens_with_the_first_headline_metric_and_the_first_pair(spec):
    opened = {name: param(spec, name) for name in inputs(spec)}
    assert opened == {
        **{"metric": "max_explainable_variance", "view": "raw", "pair": 0, "m0": True, "m1": True},
        **{"v0": True, "v1": True, "v2": False, "v3": False},
    }
    drawing = vl_convert.vegalite_to_svg(spec, vl_version="6.4")
    for words in (
        "Maximum explainable variance (singular anisotropy): as is, all tokens",
        "What max_explainable_variance is.",
        "Difference: Front minus Original",
        "Above zero, the tokens of Front are more alike.",
        "95 % interval",
        *(label for _, label in MODELS),
    ):
        assert words in drawing


def test_variants_look_as_in_figures(spec):
    looks = list(variant_styles(VARIANTS).values())
    text = str(spec)
    assert str([look.colour for look in looks]) in text
    assert str([curves.dash_pattern(look) for look in looks]) in text
    swatches = [attributes["fill"] for tag, attributes in Elements(page_of()).elements if tag == "svg"]
    assert swatches == [look.colour for look in looks]


@pytest.mark.parametrize("metric", ["max_explainable_variance", "cosine_anisotropy", "first_token_norm"])
@pytest.mark.parametrize("view", [*ALL_VIEWS, "all_tokens", "without_first"])
def test_the_view_that_is_shown_has_the_tokens_of_the_chosen_one_where_it_can(metric, view):
    present = describe_metric(metric).views or ALL_VIEWS
    shown = view_shown(view, present)
    if metric == "max_explainable_variance":
        assert shown == (view if view in ALL_VIEWS else None)
    elif metric == "cosine_anisotropy":
        assert shown == ("without_first" if "without_first" in view else "all_tokens")
    else:
        assert shown == "all_tokens"


def test_nothing_outside_the_file_is_named(page):
    read = Elements(page)
    assert "http" not in read.text
    for tag, attributes in read.elements:
        assert tag not in ("link", "iframe", "img", "object", "base")
        assert not {"src", "href", "srcset", "data", "action"} & attributes.keys()
    assert "url(" not in TEMPLATE
    assert "@import" not in TEMPLATE


def test_models_and_variants_are_told_by_their_labels_alone():
    """What the script reads does not hold their names, so the page can show none."""
    models, variants = ([[name, f"Label {name[0]}"] for name, _ in pairs] for pairs in (MODELS, VARIANTS))
    page = page_of(models=models, variants=variants)
    said = json.dumps(spec_of(page)) + Elements(page).text
    assert {f"Label {letter}" for letter in "abofes"} <= set(re.findall(r"Label \w", said))
    assert re.findall(r"\b(alpha|beta|front|scattered)\b", said) == []


def test_a_label_is_text_wherever_it_stands():
    hostile = """</script><b>"a" & 'b'</b> {{ x }} \\n"""
    page = page_of(variants=[[VARIANTS[0][0], hostile], *VARIANTS[1:]], models=[[MODELS[0][0], hostile], MODELS[1]])
    assert param(spec_of(page), "variants")[0] == param(spec_of(page), "models")[0] == hostile
    assert page.count("</script>") == 2
    assert ("b", {}) not in Elements(page).elements


def test_the_same_tables_give_the_same_bytes(page):
    assert page_of() == page


def test_a_study_without_pairs_has_no_lower_chart():
    page = page_of(contrasts=contrasts_of().clear(), pairs=[], variants=VARIANTS[:1], models=MODELS[:1])
    spec = spec_of(page)
    assert "This study compares no variants." in Elements(page).text
    assert inputs(spec).keys() == {"metric", "view", "m0", "v0"}
    assert spec["datasets"]["differences"] == []
    assert "Difference" not in vl_convert.vegalite_to_svg(spec, vl_version="6.4")


def test_a_variant_with_too_few_reviews_is_named_and_not_drawn():
    few = pl.when(variant="front").then(3).otherwise("n_reviews").cast(pl.Int64)
    page = page_of(summary_of().with_columns(n_reviews=few))
    assert "Front: 3 accepted reviews, not drawn" in Elements(page).text
    assert "v1" not in inputs(spec_of(page))
    assert {row["v"] for row in spec_of(page)["datasets"]["curves"]} == {0, 2, 3}
    # its differences can be chosen all the same
    assert ">Difference: Front minus Original<" in vl_convert.vegalite_to_svg(spec_of(page), vl_version="6.4")


def test_a_difference_that_is_not_tested_says_why():
    refused = pl.col("variant") == "front"
    numbers = pl.when(~refused).then(pl.col("mean", "ci_low", "ci_high")).otherwise(float("nan"))
    table = contrasts_of().with_columns(
        numbers,
        reason=pl.when(refused).then(pl.lit("3 of 40 reviews accepted in both")),
        verdict=pl.when(refused).then(pl.lit("not tested")).otherwise("verdict"),
    )
    spec = spec_of(page_of(contrasts=table))
    reasons = [row for row in spec["datasets"]["differences"] if "reason" in row]
    assert [(row["m"], row["p"]) for row in reasons] == [(m, p) for m in (0, 1) for p in (0, 3)]
    drawing = vl_convert.vegalite_to_svg(spec, vl_version="6.4")
    assert drawing.count(">not tested: 3 of 40 reviews") == 2


def test_missing_values_and_numbers_of_reviews_that_differ_by_layer():
    at = (pl.col("layer") == 2) & (pl.col("point") != FINAL_NORM) & (pl.col("metric") == "effective_rank")
    table = summary_of().with_columns(
        mean=pl.when(at).then(float("nan")).otherwise("mean"), n_reviews=pl.when(at).then(0).otherwise("n_reviews")
    )
    spec = spec_of(page_of(table))
    for row in spec["datasets"]["curves"]:
        if cells_by_place(spec)[row["c"]][0] == "effective_rank":
            assert row["mean"][2] is None
            assert row["n"][2:4] == [0, 40]
        else:
            assert row["n"] == 40


def test_no_band_where_depth_moves_nothing():
    table = contrasts_of().with_columns(depth_range=float("nan"))
    assert {row["bound"] for row in spec_of(page_of(contrasts=table))["datasets"]["differences"]} == {None}


def test_values_over_decades_have_a_logarithmic_axis():
    wide = pl.when(metric="first_token_norm").then(10.0 ** (3 * pl.col("depth"))).otherwise("mean")
    spec = spec_of(page_of(summary_of().with_columns(mean=wide)))
    logarithmic = {cells_by_place(spec)[place][0] for place, cell in enumerate(param(spec, "cells")) if cell["log"]}
    assert logarithmic == {"first_token_norm"}
    for parameter in spec["params"]:
        if parameter["name"] == "metric":
            parameter["value"] = "first_token_norm"
    drawing = vl_convert.vegalite_to_svg(spec, vl_version="6.4")
    assert "log scale" in drawing
    assert ">1000<" in drawing


def test_a_table_without_what_is_shown_is_refused():
    with pytest.raises(HomogenizationError, match=r"summary\.parquet: no rows"):
        page_of(summary_of().clear())


def large_tables(study):
    """Tables of random numbers over all that a study computes, with 30 blocks a model."""
    described = [describe_metric(name) for name in study.tabulated_metrics]
    cells = [(metric.name, view) for metric in described for view in metric.views or study.views]
    points = [("residual_stream", layer) for layer in range(31)] + [("final_norm", 30)]
    random = np.random.default_rng(0)

    def crossed(cells, others, names):
        rows = [
            (*cell, *other, model, *point) for cell, other, model, point in product(cells, others, study.models, points)
        ]
        table = pl.DataFrame(rows, schema=["metric", "view", *names, "model", "point", "layer"], orient="row")
        numbers = ("mean", "ci_low", "ci_high", "relative_effect", "depth_range", "review_sd")
        return table.with_columns(
            pl.col("layer").cast(pl.Int32),
            *(pl.Series(name, random.random(len(table))) for name in numbers),
            n_reviews=pl.lit(32, pl.Int64),
            depth=pl.col("layer") / 30,
            verdict=pl.lit("negligible"),
            fragile=pl.lit(False),
            layers=pl.lit(None, pl.String),
            reason=pl.lit(None, pl.String),
        )

    compared = [cell for cell in cells if cell[0] in study.contrasted_metrics]
    return (
        crossed(cells, [(name,) for name in study.variants], ["variant"]),
        crossed(compared, study.contrasted, ["variant", "minus"]),
    )


def test_the_page_of_the_default_study_is_small_and_a_larger_one_says_what_it_leaves_out(monkeypatch, caplog):
    monkeypatch.chdir(ROOT)
    caplog.set_level(logging.INFO)
    study = load_study(read_yaml("config/config.yaml"))
    tables = large_tables(study)
    shown = shown_of(study) | {"template": TEMPLATE}
    whole = curves.curves_page(*tables, **shown)
    assert len(whole.encode()) < 3_000_000
    assert "Left out" not in Elements(whole).text

    bound = len(whole.encode()) * 3 // 4
    bounded = curves.curves_page(*tables, **shown, most_bytes=bound)
    assert len(bounded.encode()) <= bound
    there = set(cells_by_place(spec_of(bounded)).values())
    missing = set(cells_by_place(spec_of(whole)).values()) - there
    assert missing
    said = next(text for text in Elements(bounded).text.splitlines() if text.startswith("Left out"))
    assert said in caplog.text
    for metric, view in missing:
        # the first view of each metric stays, and all those of headline and contrasted metrics
        assert metric not in (*HEADLINE_METRICS, *study.contrasted_metrics)
        assert view != view_label("raw")
        assert describe_metric(metric).title in said
        assert view in said


def test_metrics_have_a_definition_of_one_sentence():
    study = load_study({**read_yaml(ROOT / "config/untrained.yaml"), "claims": None})
    for metric in shown_of(study)["metrics"]:
        words = metric["definition"]
        assert words[0].isupper() or words[0].isdigit(), metric
        assert words.endswith("."), metric
        assert 20 < len(words) < 120, metric
    assert described()[0].keys() == shown_of(study)["metrics"][0].keys()
