"""The heat map of what the metrics answer to."""

import numpy as np
import polars as pl
import pytest

from drawings import texts
from homogenization.run.files import read_csv, write_csv
from homogenization.statistics.causes import CAUSES, RESPONSE_SCHEMA
from library.figures.examples import drawn, figure_of, require_refusal, responses

NAMES = list(CAUSES)


def panel(figure, heading):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == heading)


def written(axes):
    """(row, column) -> what is written in a cell."""
    return {(int(text.get_position()[1]), int(text.get_position()[0])): text for text in axes.texts}


def test_colours_and_numbers_are_the_responses():
    axes = panel(drawn("sensitivity"), "As is, all tokens")
    mesh = axes.collections[-1]
    table = responses().filter(view="raw")
    np.testing.assert_allclose(np.ma.getdata(mesh.get_array()).reshape(len(table), -1), table.select(NAMES).to_numpy())
    assert (mesh.norm.vmin, mesh.norm.vmax) == (-1, 1)
    metrics = [label.get_text() for label in axes.get_yticklabels()]
    assert metrics[:3] == ["Effective rank", "Normalised effective rank", "Maximum explainable variance"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [cause.title for cause in CAUSES.values()]
    cells = written(axes)
    assert len(cells) == len(table) * len(NAMES)
    assert cells[2, NAMES.index("cone")].get_text() == "0.83"
    assert cells[2, NAMES.index("cone")].get_fontweight() == "bold"
    assert cells[2, NAMES.index("compression")].get_fontweight() == "normal"
    assert cells[2, NAMES.index("collapse")].get_fontweight() == "normal"
    assert cells[6, NAMES.index("massive_first_token")].get_text() == "−56"
    assert axes.get_ylim() == (len(table), 0)  # the first metric is on top
    assert "from 0.125 to 2" in texts(drawn("sensitivity"))
    few = figure_of("sensitivity", responses().filter(view="unit", metric="stable_rank"))
    assert len(few.axes) == 3  # two panels, of which one is empty, and the colour bar


def test_half_a_collapse_is_bold_and_zero_has_no_sign():
    table = responses().filter(view="unit")
    row = table["metric"].to_list().index("stable_rank")
    cells = written(panel(drawn("sensitivity"), "Unit rows, all tokens"))
    assert cells[row, NAMES.index("antipodal_pairs")].get_fontweight() == "bold"
    assert cells[row, NAMES.index("cone")].get_fontweight() == "normal"
    assert cells[row, NAMES.index("matrix_shape")].get_text() == "0"


def test_cells_without_a_response_are_grey_with_a_dot_for_what_moves_the_metric():
    axes = panel(drawn("sensitivity"), "Norms and directions, all tokens")
    metrics = [label.get_text() for label in axes.get_yticklabels()]
    row = metrics.index("Modes of the cosines")
    assert not any(y == row for y, _ in written(axes))
    dots = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines if line.get_marker() == "o"]
    assert [x for x, y in dots if int(y) == row] == [NAMES.index("antipodal_pairs") + 0.5]
    # the norm of the other tokens has no view of all tokens: an empty row, not a grey one
    grey_rows = sorted(round(patch.get_y()) for patch in axes.patches)
    assert metrics.index("Norm of the other tokens") not in grey_rows
    assert row in grey_rows


def test_a_number_stays_within_its_cell():
    figure = drawn("sensitivity")
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        for text in axes.texts:
            box = text.get_window_extent(renderer).transformed(axes.transData.inverted())
            assert int(box.x0) == int(box.x1)
            assert int(box.y0) == int(box.y1)


def test_a_table_without_rows_is_refused_by_name_and_moved_aside(tmp_path):
    path = tmp_path / "sensitivity.csv"
    path.write_text(",".join(RESPONSE_SCHEMA) + "\n")
    said = "with a row for each metric and view.*again"
    require_refusal("sensitivity", said, responses().clear(), source=str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["sensitivity.csv.damaged"]


@pytest.mark.parametrize("answers", ["", "cone"])
def test_a_cause_that_moves_nothing_is_written_and_read_as_such(answers, tmp_path):
    """The script reads what `probe_metrics` writes, empty texts included."""
    table = responses().head(1).with_columns(answers_to=pl.lit(answers))
    write_csv(table, tmp_path / "sensitivity.csv")
    assert read_csv(tmp_path / "sensitivity.csv", RESPONSE_SCHEMA).equals(table.select(*RESPONSE_SCHEMA))
