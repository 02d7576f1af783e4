"""The figure of what the metrics answer to, and its script."""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from homogenization.figures.sensitivity import draw_sensitivity
from homogenization.run.errors import HomogenizationError
from homogenization.statistics.causes import CAUSES, RESPONSE_SCHEMA
from homogenization.statistics.sensitivity import response_table, sensitivity_table

ROOT = Path(__file__).parents[3]
NAMES = list(CAUSES)


@cache
def responses():
    return response_table(sensitivity_table(128, 256, 8))


def response(metric, view, cause):
    return responses().row(by_predicate=(pl.col("metric") == metric) & (pl.col("view") == view), named=True)[cause]


def script_main(rule):
    spec = importlib.util.spec_from_file_location(rule, ROOT / "workflow" / "scripts" / f"{rule}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


@cache
def drawn():
    return draw_sensitivity(responses(), "T")


def panel(figure, heading):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == heading)


def written(axes):
    """(row, column) -> what is written in a cell."""
    return {(int(text.get_position()[1]), int(text.get_position()[0])): text for text in axes.texts}


def test_colours_and_numbers_of_the_figure_are_the_responses():
    axes = panel(drawn(), "As is, all tokens")
    mesh = axes.collections[-1]
    table = responses().filter(view="raw")
    np.testing.assert_allclose(np.ma.getdata(mesh.get_array()).reshape(len(table), -1), table.select(NAMES).to_numpy())
    assert (mesh.norm.vmin, mesh.norm.vmax) == (-1, 1)
    metrics = [label.get_text() for label in axes.get_yticklabels()]
    assert metrics[:3] == ["Effective rank", "Normalised effective rank", "Maximum explainable variance"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [cause.title for cause in CAUSES.values()]
    cells = written(axes)
    assert len(cells) == len(table) * len(NAMES)
    cone = response("max_explainable_variance", "raw", "cone")
    assert cells[2, NAMES.index("cone")].get_text() == f"{cone:.2f}"
    assert cells[2, NAMES.index("cone")].get_fontweight() == "bold"
    assert cells[2, NAMES.index("compression")].get_fontweight() == "normal"
    assert cells[2, NAMES.index("collapse")].get_fontweight() == "normal"
    norm = response("schatten_inf", "raw", "massive_first_token")
    assert cells[6, NAMES.index("massive_first_token")].get_text() == f"−{-norm:.0f}"
    assert axes.get_ylim() == (len(table), 0)  # the first metric is on top


def test_cells_without_a_response_are_grey_with_a_dot_for_what_moves_the_metric():
    axes = panel(drawn(), "Norms and directions, all tokens")
    metrics = [label.get_text() for label in axes.get_yticklabels()]
    row = metrics.index("Modes of the cosines")
    assert not any(y == row for y, _ in written(axes))
    dots = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines if line.get_marker() == "o"]
    assert [x for x, y in dots if int(y) == row] == [NAMES.index("antipodal_pairs") + 0.5]
    # the norm of the other tokens has no view of all tokens: an empty row, not a grey one
    grey_rows = sorted(round(patch.get_y()) for patch in axes.patches)
    assert metrics.index("Norm of the other tokens") not in grey_rows
    assert row in grey_rows


def test_nothing_in_the_figure_lies_over_anything_else():
    figure = drawn()
    renderer = figure.canvas.get_renderer()
    panels = [axes.get_tightbbox(renderer) for axes in figure.axes]
    around = [text.get_window_extent(renderer) for text in figure.texts]
    for index, box in enumerate([*panels, *around]):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
        assert not any(box.overlaps(other) for other in [*panels, *around][index + 1 :])
    for axes in figure.axes:
        for text in axes.texts:  # a number stays within its cell
            box = text.get_window_extent(renderer).transformed(axes.transData.inverted())
            assert int(box.x0) == int(box.x1)
            assert int(box.y0) == int(box.y1)


def test_a_table_of_few_metrics_is_drawn():
    figure = draw_sensitivity(responses().filter(view="unit", metric="stable_rank"), "T")
    assert len(figure.axes) == 3  # two panels, one of them empty, and the colour bar


def test_the_script_writes_the_same_bytes_again(tmp_path):
    few = tmp_path / "few.csv"  # drawing all takes seconds
    responses().filter(metric="stable_rank").write_csv(few)
    contents = []
    for run in ("first", "second"):
        paths = [tmp_path / run / name for name in ("f.svg", "f.png")]
        script_main("plot_sensitivity")(responses=few, svg=paths[0], png=paths[1], title="Some title")
        assert sorted((tmp_path / run).iterdir()) == sorted(paths)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert b"Some title" in contents[0][0]


@pytest.mark.parametrize(
    "content", ["", "metric,view\nstable_rank,raw\n", ",".join(RESPONSE_SCHEMA) + "\n", '"cut short'], ids=repr
)
def test_a_table_that_is_none_is_refused_by_name_and_moved_aside(tmp_path, content):
    path = tmp_path / "sensitivity.csv"
    path.write_text(content)
    with pytest.raises(HomogenizationError, match="again") as refused:
        script_main("plot_sensitivity")(responses=path, svg=tmp_path / "f.svg", png=tmp_path / "f.png", title="T")
    assert str(path) in str(refused.value)
    assert [file.name for file in tmp_path.iterdir()] == ["sensitivity.csv.damaged"]


def test_a_table_that_is_gone_is_refused_by_name(tmp_path):
    with pytest.raises(HomogenizationError, match="gone"):
        script_main("plot_sensitivity")(
            responses=tmp_path / "no.csv", svg=tmp_path / "f.svg", png=tmp_path / "f.png", title="T"
        )
