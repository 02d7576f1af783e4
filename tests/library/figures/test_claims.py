"""The board of claims."""

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from conftest import ROOT
from drawings import LONG, N, as_svg, boxes, named, texts
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.config.claims import load_all_claims
from homogenization.figures.claims import COLUMNS, VERDICTS
from homogenization.figures.words import short_number
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from library.figures.examples import COMPARISONS, claims_table, drawn, figure_of


def cells(figure):
    """The boxes of the board from left to right, row by row, each with the texts in it."""
    axes = figure.axes[0]
    found = []
    for box in (patch for patch in axes.patches if isinstance(patch, Rectangle)):
        left, top = box.get_xy()
        right, bottom = left + box.get_width(), top + box.get_height()
        inside = [text for text in axes.texts if left < text.get_position()[0] < right]
        inside = [text for text in inside if top < text.get_position()[1] < bottom]
        found.append((box, inside))
    return found


def test_claims_on_no_single_model_have_one_column():
    """Claims on trained models are about several, of which there can be dozens."""
    table = claims_table(models=[None]).with_columns(model=pl.lit(None, pl.String))
    figure = figure_of("claims", table)
    assert [box.get_label() for box, _ in cells(figure)] == table["verdict"].to_list()
    assert figure.get_figwidth() < drawn("claims").get_figwidth()
    assert f"n = {N} reviews" in texts(figure)
    seeds = figure_of("claims", table.with_columns(unit=pl.lit("seeds"), n_reviews=pl.lit(3, pl.Int64)))
    assert "n = 3 seeds" in texts(seeds)
    assert "reviews." not in texts(seeds)
    told = [text.get_text() for text in figure.axes[0].texts]
    assert told[:2] == ["The study", "  ".join(f"{look.sign} 2" for look in VERDICTS.values())]


def test_it_has_a_cell_for_each_claim_and_model_with_verdict_and_number():
    table = claims_table()
    found = cells(drawn("claims"))
    assert [box.get_label() for box, _ in found] == table["verdict"].to_list()
    widths = [box.get_width() for box, _ in found]
    assert max(widths) == pytest.approx(2 * min(widths), rel=0.05)
    assert widths.count(max(widths)) == 1, "of the claim about no model"
    of_one = [box.get_label() for box, _ in cells(figure_of("claims", claims_table(["alpha"])))]
    assert of_one.count("not tested") >= 8, "the other model was not judged"
    for (box, inside), row in zip(found, table.iter_rows(named=True), strict=True):
        look = VERDICTS[row["verdict"]]
        assert to_hex(box.get_facecolor()) == to_hex(look.colour)
        told = [text.get_text() for text in inside]
        assert told[0] == look.sign
        if row["verdict"] == "not tested":
            assert " ".join(told[1].split()).startswith("the study has no metric f")
            assert len(told) == 2
        else:
            assert told[1] == short_number(row["estimate"], signed=row["statistic"] == "contrast")
            assert len(told) == (3 if np.isfinite(row["ci_high"]) else 2)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"metric": "effective_rank", "relative_effect": -0.0234}, ["2.3 %", "more alike", "−0.012 [−0.019, −0.0062]"]),
        ({"metric": "effective_rank", "relative_effect": -0.00004}, ["0 %", "more alike", "−0.012 [−0.019, −0.0062]"]),
        ({"relative_effect": 0.0234, "statistic": "component"}, ["+2.3 %", "−0.012 [−0.019, −0.0062]"]),
        (
            {"metric": "effective_rank", "relative_effect": -0.0234, "fragile": True},
            ["2.3 %", "more alike · fragile", "−0.012 [−0.019, −0.0062]"],
        ),
        ({"fragile": True}, ["−0.012", "[−0.019, −0.0062] · fragile"]),
        ({"fragile": True, "p_decides": True}, ["−0.012", "[−0.019, −0.0062] · fragile", "p .12"]),
        ({"variant": "end"}, ["−0.012", "[−0.019, −0.0062]", "unbalanced"]),
        ({"share_changed": 0.4}, ["−0.012", "[−0.019, −0.0062]", "40 % changed"]),
        ({"share_changed": 1.0}, ["−0.012", "[−0.019, −0.0062]"]),
        ({"without_first": 0.717}, ["−0.012", "[−0.019, −0.0062]", "without first: +0.717"]),
        (
            {"first_decides": True, "verdict_same_first": "negligible", "n_same_first": 7},
            ["−0.012", "[−0.019, −0.0062]", "first (n 7): negligible"],
        ),
        ({"n_reviews": 13}, ["−0.012", "[−0.019, −0.0062]", "13 reviews"]),
        ({"n_reviews": 16}, ["−0.012", "[−0.019, −0.0062]"]),
        ({"unit": "pools", "n_reviews": 4}, ["−0.012", "[−0.019, −0.0062] · 4 pools"]),
        ({"unit": "pools", "n_reviews": 1, "ci_low": float("nan")}, ["−0.012", "one pool"]),
    ],
)
def test_a_cell_says_what_else_there_is_to_a_verdict(changes, told):
    figure = figure_of("claims", claims_table(**changes))
    _, inside = cells(figure)[0]
    assert [text.get_text() for text in inside][1:] == told
    words = {"fragile": "Fragile:", "p_decides": "p: corrected", "variant": "Unbalanced:"} | {
        "first_decides": "First (n):",
        "without_first": "Without first:",
    }
    note = texts(figure)
    assert all((words[name] in note) == (name in changes) for name in words)


def test_the_cure_of_unchanged_texts_is_said_once():
    reason = "17 of 20 texts are as the original; at least 10 have to differ"
    cure = "Longer texts, keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more"
    table = claims_table(verdict="not tested", reason=f"{reason}. {cure}")
    told = " ".join(texts(figure_of("claims", table)).split())
    assert told.count(cure) == 1
    assert reason in told
    assert cure not in texts(figure_of("claims", claims_table()))


def test_without_imbalance_nothing_is_marked():
    empty = COMPARISONS.with_columns(imbalance=pl.lit(None, pl.String))
    assert "unbalanced" not in texts(figure_of("claims", {"claims": claims_table(variant="end"), "comparisons": empty}))


def test_a_claim_in_two_conventions_has_its_statement_once_and_what_is_tested_nowhere_one_cell():
    table = claims_table(n_claims=1)
    pooled = table.with_columns(
        pl.lit("claim-0-thesis").alias("claim"),
        pl.lit("thesis").alias("convention"),
        pl.lit("not tested").alias("verdict"),
        pl.lit(None, pl.Float64).alias("estimate"),
        pl.lit("no pooled tokens").alias("reason"),
    )
    figure = figure_of("claims", pl.concat([table, pooled]))
    told = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert sum("Something long" in text for text in told) == 1
    assert "text by text: mean difference < 0" in told
    assert "pooled: mean difference < 0" in told
    assert [box.get_label() for box, _ in cells(figure)] == ["supported", "contradicted", "not tested"]
    assert "Pooled:" in texts(figure)


def untested(n_claims):
    reasons = pl.Series("reason", [f"the study has no control {row // 2 % 2}" for row in range(2 * n_claims)])
    table = pl.concat([claims_table(n_claims=1, claim=f"claim-{index}") for index in range(n_claims)])
    names = pl.Series("claim", [f"claim-{row // 2}" for row in range(2 * n_claims)])
    return table.with_columns(pl.lit("not tested").alias("verdict"), names, reasons)


def test_claims_that_were_tested_in_no_model_share_the_last_row_with_each_reason_once():
    tested = claims_table(n_claims=3).with_columns(claim=pl.lit("tested-") + pl.col("claim"))
    figure = figure_of("claims", pl.concat([untested(4), tested]))
    assert [box.get_label() for box, _ in cells(figure)][-1] == "not tested"
    assert len(cells(figure)) == 2 * 3 + 1
    told = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert "4 claims, of which none could be tested" in told
    assert "the study has no control 0; the study has no control 1" in told
    apart = [text.get_text() for text in figure_of("claims", untested(2)).axes[0].texts]
    assert not any("none could be tested" in text for text in apart)


def test_a_metric_that_depends_on_the_number_of_tokens_is_marked():
    figure = figure_of("claims", claims_table(n_claims=1, depends_on_length=True))
    assert "mean difference < 0 †" in [text.get_text() for text in figure.axes[0].texts]
    assert "†: the metric" in texts(figure)


def test_a_board_has_its_own_source_alone_and_counts_verdicts():
    other = claims_table(n_claims=2).with_columns(source=pl.lit("thesis"), statement=pl.lit("Of the thesis."))
    assert as_svg(figure_of("claims", pl.concat([claims_table(), other]))) == as_svg(drawn("claims"))
    assert "Of the thesis." in texts(figure_of("claims", pl.concat([claims_table(), other]), claims_of="thesis"))
    told = [text.get_text() for text in drawn("claims").axes[0].texts]
    of_alpha = claims_table().filter(model="alpha")["verdict"].to_list()
    tally = "  ".join(f"{look.sign} {of_alpha.count(name)}" for name, look in VERDICTS.items())
    assert tally in told
    assert "mean difference < 0" in told


def test_texts_stay_in_their_cells_and_rows():
    figure = drawn("claims")
    renderer = figure.canvas.get_renderer()
    found = cells(figure)
    for box, inside in found:
        outline = box.get_window_extent(renderer)
        for text in inside:
            extent = text.get_window_extent(renderer)
            assert outline.x0 <= extent.x0
            assert extent.x1 <= outline.x1
            assert outline.y0 <= extent.y0
            assert extent.y1 <= outline.y1
    extents = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    for index, extent in enumerate(extents):
        assert not any(extent.overlaps(other) for other in extents[index + 1 :])
    first_column = min(box.get_window_extent(renderer).x0 for box, _ in found)
    aside = [text for text in figure.axes[0].texts if text.get_ha() == "left"]
    assert len(aside) == 2 * 10
    assert all(text.get_window_extent(renderer).x1 < first_column for text in aside)


@pytest.mark.parametrize("names", [[LONG], [f"{LONG}-{index}" for index in range(7)]], ids=["one", "many"])
def test_one_and_many_models_with_long_names_fit(names):
    figure = figure_of("claims", claims_table(names), title="A long title " * 20, models=named(names))
    around, panels = boxes(figure)
    assert all(box.x1 <= figure.bbox.width for box in [*around, *panels])
    assert not any(box.overlaps(panel) for box in around for panel in panels)


@pytest.mark.parametrize("n_models", [1, 4])
def test_the_claims_of_each_source_in_this_repository_fit_on_a_page(n_models):
    """A4 with margins, at three quarters of the size or more; numbers of models widen a board."""
    claims = load_all_claims([str(path) for path in sorted((ROOT / "config").glob("claims*.yaml"))])
    like = claims_table(n_claims=1, relative_effect=-0.0234, fragile=True).row(0, named=True)
    rows = [
        like | {name: claim[name] for name in ("claim", "statement", "source")} | {"model": f"m{number}"}
        for claim in claims
        for number in range(n_models)
    ]
    table = pl.DataFrame(rows, schema=COLUMNS["claims"])
    table = table.with_columns(measured=pl.lit("text by text: mean difference over all layers"))
    for source in table["source"].unique():
        board = figure_of("claims", table, claims_of=source, models=named([f"m{number}" for number in range(n_models)]))
        assert board.get_figheight() < 10.1 / 0.7, source


def test_the_table_has_the_columns_that_it_is_drawn_from():
    assert set(COLUMNS["claims"].items()) <= set(CLAIMS_SCHEMA.items())
    assert set(COLUMNS["comparisons"].items()) <= set(COMPARISONS_SCHEMA.items())
