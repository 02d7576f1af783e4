"""The style of variants, and the files of a figure."""

from PIL import Image

from drawings import MODELS, VARIANTS
from homogenization.figures.style import save_figure, variant_styles
from library.figures.example_tables import attention_table
from library.figures.examples import figure_of


def test_variants_differ_in_colour_dashes_and_marker():
    names = [*VARIANTS, *([f"v{index}", ""] for index in range(12))]
    styles = variant_styles(names)
    looks = {(style.colour, str(style.dashes), style.marker) for style in styles.values()}
    assert len(looks) == len(names)
    for field in ("colour", "dashes", "marker"):
        assert len({str(getattr(styles[name], field)) for name, _ in VARIANTS}) == 4


def test_a_variant_keeps_its_style_when_others_come_and_go():
    assert variant_styles(VARIANTS)["end"] == variant_styles([["end", "End"], ["other", ""]])["end"]


def test_a_figure_drawn_again_has_the_same_bytes_in_every_format_and_no_date(tmp_path):
    written = []
    for run in ("first", "second"):
        paths = [tmp_path / run / f"figure.{suffix}" for suffix in ("svg", "png", "pdf")]
        figure = figure_of("attention_heatmap", {"attention": attention_table({"alpha": 2})}, models=MODELS[:1])
        save_figure(figure, *paths)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0][0]
    assert b"CreationDate" not in written[0][2]
    for run in ("first", "second"):
        assert sorted(path.name for path in (tmp_path / run).iterdir()) == ["figure.pdf", "figure.png", "figure.svg"]
    with Image.open(tmp_path / "first" / "figure.png") as image:
        assert 600 <= image.width <= 2000
