"""The look of figures and pages: colours in one module, the styles of lines, and the files of a figure."""

from drawings import MODELS, VARIANTS
from homogenization.figures.drawing import save_figure
from homogenization.figures.style import pattern_styles, variant_styles
from library.figures.example_tables import attention_table
from library.figures.examples import figure_of


def test_variants_and_patterns_differ_in_colour_dashes_and_marker():
    variants = variant_styles([*VARIANTS, *([f"v{index}", ""] for index in range(12))])
    patterns = pattern_styles(["first", "second", "removed", "uniform", "scattered"])
    for styles, first in ((variants, [name for name, _ in VARIANTS]), (patterns, ["first", "second"])):
        assert len({(look.colour, str(look.dashes), look.marker) for look in styles.values()}) == len(styles)
        for field in ("colour", "dashes", "marker"):
            assert len({str(getattr(styles[name], field)) for name in first}) == len(first)
    assert [name for name, look in patterns.items() if look.control] == ["removed", "uniform", "scattered"]


def test_a_variant_keeps_its_style_when_others_come_and_go():
    alone = variant_styles([["end", "End"], ["other", ""]])
    assert variant_styles(VARIANTS)["end"] == alone["end"]
    assert variant_styles([["fifth", ""], ["other", ""]], {"other"}).keys() == {"other"}
    assert variant_styles([["fifth", ""], ["other", ""]])["other"] != alone["other"]


def test_a_figure_drawn_again_has_the_same_bytes_in_every_format_and_no_date(tmp_path):
    written = []
    for run in ("first", "second"):
        paths = [tmp_path / run / f"figure.{suffix}" for suffix in ("svg", "pdf")]
        figure = figure_of("attention_heatmap", attention_table({"alpha": 2}), models=MODELS[:1])
        save_figure(figure, *paths)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0][0]
    assert b"CreationDate" not in written[0][1]
    for run in ("first", "second"):
        assert sorted(path.name for path in (tmp_path / run).iterdir()) == ["figure.pdf", "figure.svg"]
