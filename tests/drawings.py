"""What the tests of figures share: names and labels, and what is read back from a drawing."""

import io

import matplotlib
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from homogenization.figures.shown import Shown
from homogenization.figures.style import house_style

VARIANTS = [["original", "Original"], ["front", "Front"], ["end", "End"], ["scattered", "Scattered"]]
MODELS = [["alpha", "Alpha (trained)"], ["beta", "Beta (random)"]]
LONG = "a/rather-long-Model-Name-of-an-organisation-with-many-words-7B-instruct-v0.3"
N = 40


def shown(**fields) -> Shown:
    """A figure with the title T of the example models and variants, with other `fields` where they are given."""
    example = {"source": "results/tables/example.parquet", "title": "T", "models": MODELS, "variants": VARIANTS}
    return Shown(**(example | fields))


def named(names) -> list[list[str]]:
    """(name, label) pairs whose labels are the names."""
    return [[name, name] for name in names]


def texts(figure: Figure) -> str:
    """All that is written in a figure, tick labels aside."""
    found = [text.get_text() for text in figure.texts]
    found += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
        found += [text.get_text() for text in axes.texts]
    return " ".join(" ".join(found).split())


def line(axes: Axes, label: str) -> Line2D:
    """The first curve of a panel with this label."""
    return next(curve for curve in axes.lines if curve.get_label() == label)


def boxes(figure: Figure) -> tuple[list[Bbox], list[Bbox]]:
    """What must not lie over anything else: title, note and legend; every panel with its labels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    around = [text.get_window_extent(renderer) for text in figure.texts]
    around += [legend.get_window_extent(renderer) for legend in figure.legends]
    # a title may reach over the panel beside it, whose own title leaves it room: its height alone counts
    drawn = [axes for axes in figure.axes if axes.axison or axes.texts]
    return around, [axes.get_tightbbox(renderer, for_layout_only=True) for axes in drawn]


def require_room(figure: Figure) -> None:
    """Everything lies within the figure, and nothing over anything else."""
    around, panels = boxes(figure)
    for axes in figure.axes:
        titles = [title.get_window_extent() for title in (axes.title, axes._left_title) if title.get_text()]
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in titles)
        assert len(titles) < 2 or titles[1].y1 < titles[0].y1
    for index, box in enumerate([*around, *panels]):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
        assert not any(box.overlaps(other) for other in [*around, *panels][index + 1 :])


def require_house_style(figure: Figure, size: str) -> None:
    """A figure has the title T, says its sample `size`, overlaps nowhere, and is drawn the same each time."""
    assert figure.texts[0].get_text() == "T"
    assert size in texts(figure)
    require_room(figure)
    places = [value for axes in figure.axes for value in axes.get_position(original=True).bounds]
    # otherwise the bytes of the file differ now and then
    assert places == pytest.approx([round(value, 6) for value in places], abs=1e-13)


def require_axis_labels(figure: Figure) -> None:
    """Both directions are labelled somewhere."""
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert any(axes.get_ylabel() for axes in figure.axes)


def as_svg(figure: Figure) -> bytes:
    """The bytes of the SVG file of a figure."""
    file = io.BytesIO()
    with house_style(), matplotlib.rc_context({"svg.hashsalt": "the same"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
