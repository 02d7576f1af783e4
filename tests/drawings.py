"""What the tests of figures share: names and labels, an example table, and what is read back from a drawing."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from homogenization.figures.shown import Shown
from homogenization.figures.style import save_figure
from homogenization.measures.position_cells import DICTIONARY
from homogenization.run.errors import HomogenizationError

VARIANTS = [["original", "Original"], ["front", "Front"], ["end", "End"], ["scattered", "Scattered"]]
MODELS = [["alpha", "Alpha (trained)"], ["beta", "Beta (random)"]]
BLOCKS = {"alpha": 6, "beta": 4}
LONG = "a/rather-long-Model-Name-of-an-organisation-with-many-words-7B-instruct-v0.3"
N = 40
HEADS = 3


def shown(**fields) -> Shown:
    """A figure with the title T of the example models and variants, with other `fields` where they are given."""
    example = {"source": "results/tables/example.parquet", "title": "T", "models": MODELS, "variants": VARIANTS}
    return Shown(**(example | fields))


def named(names) -> list[list[str]]:
    """(name, label) pairs whose labels are the names."""
    return [[name, name] for name in names]


def value_of(model: str, variant: str, depth: float, scale: float = 1.0) -> float:
    """The mean in `summary_table`."""
    return scale * (2 + depth + 0.1 * len(variant) + 0.01 * len(model))


def summary_table(
    metric="effective_rank", views=("raw", "raw_without_first"), blocks=BLOCKS, variants=VARIANTS
) -> pl.DataFrame:
    """Rows of tables/summary.parquet."""
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in variants:
            for view in views:
                places = [("residual_stream", layer) for layer in range(n_blocks + 1)] + [("final_norm", n_blocks)]
                for point, layer in places:
                    depth = layer / n_blocks
                    mean = value_of(model, variant, depth, 0.5 if point == "final_norm" else 1.0)
                    rows.append(
                        {
                            "model": model, "variant": variant, "point": point, "layer": layer, "depth": depth,
                            "view": view, "metric": metric, "n_reviews": N, "mean": mean, "std": 1.0, "median": mean,
                            "ci_low": mean - 0.2, "ci_high": mean + 0.3,
                        }
                    )  # fmt: skip
    return pl.DataFrame(rows)


def attention_table(blocks=BLOCKS, uniform=lambda place: 3 * np.exp(-4 * place)) -> pl.DataFrame:
    """Rows of tables/attention.parquet."""
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in VARIANTS:
            for block in range(1, n_blocks + 1):
                for index in range(20):
                    place = (index + 0.5) / 20
                    base = uniform(place)
                    received = base * 2.0 ** (block / n_blocks)
                    interval = (received * 0.9, received * 1.2)
                    rows.append((model, variant, block, block / n_blocks, index, place, N, received, *interval, base))
    columns = ["model", "variant", "layer", "depth", "bin", "relative_position", "n_reviews", "received", "ci_low"]
    return pl.DataFrame(rows, schema=[*columns, "ci_high", "uniform"], orient="row")


def positional_mass(block: int, head: int, n_blocks: int) -> float:
    """The positional mass in `positional_table`."""
    return block / n_blocks * head / HEADS


def positional_table(blocks=BLOCKS, variants=("original", "front")) -> pl.DataFrame:
    """Rows of tables/positional.parquet."""
    rows = [
        {
            **{"model": model, "variant": variant, "block": block, "depth": block / n_blocks, "head": head},
            **{"positional_mass": positional_mass(block, head, n_blocks), "total_mass": 1.0, "null_mass": 0.01},
            **{"ratio": positional_mass(block, head, n_blocks) / 2, "n_reviews": N},
            **{f"weight_{name}": 1 / len(DICTIONARY) for name in DICTIONARY},
        }
        for model, n_blocks in blocks.items()
        for variant in variants
        for block in range(1, n_blocks + 1)
        for head in range(1, HEADS + 1)
    ]
    return pl.DataFrame(rows)


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
    renderer = figure.canvas.get_renderer()
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


def require_refusal(draw, tables: dict, chosen: Shown, said: str) -> None:
    """Nothing is drawn of these tables; the message says `said` and names the file."""
    with pytest.raises(HomogenizationError, match=said) as refused:
        draw(tables, chosen)
    assert chosen.source in str(refused.value)


def saved(figure: Figure, folder: Path) -> tuple[bytes, bytes]:
    """The bytes of the SVG and of the PNG file of a figure."""
    paths = folder / "figure.svg", folder / "figure.png"
    save_figure(figure, *paths)
    return paths[0].read_bytes(), paths[1].read_bytes()
