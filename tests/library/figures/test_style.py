"""The look of figures and pages: colours in one module, the styles of lines, and the files of a figure."""

import numpy as np
from matplotlib.colors import to_rgb

from drawings import MODELS, VARIANTS
from homogenization.figures import style
from homogenization.figures.drawing import save_figure
from homogenization.figures.style import VERDICTS, pattern_styles, variant_styles
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


def test_verdicts_are_told_apart_without_colour_and_can_be_read():
    def luminance(colour):
        parts = np.asarray(to_rgb(colour))
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    looks = list(VERDICTS.values())
    assert len({look.sign for look in looks}) == 5
    darkness = sorted(luminance(look.colour) for look in looks)
    assert min(np.diff(darkness)) > 0.15
    # at least what the web guidelines ask of small text, and of large text where there is a lone dash
    assert all(contrast(look.ink, look.colour) > (4.2 if look.sign == "–" else 4.5) for look in looks)
    assert contrast(style.COLOURS["grey"], style.COLOURS["paper"]) > 4.5


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
