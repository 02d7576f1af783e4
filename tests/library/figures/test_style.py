"""The look of figures and pages: colours in one module, the styles of lines, and the files of a figure."""

import re
import tokenize
import xml.etree.ElementTree as ET

import numpy as np
from matplotlib.colors import CSS4_COLORS, to_rgb
from matplotlib.figure import Figure
from PIL import Image

from conftest import ROOT
from drawings import MODELS, VARIANTS
from homogenization.figures import style
from homogenization.figures.drawing import save_figure
from homogenization.figures.style import VERDICTS, house_style, pattern_styles, variant_styles
from library.figures.example_tables import attention_table
from library.figures.examples import figure_of

SOURCES = [
    *(path for path in (ROOT / "workflow/lib/homogenization").rglob("*.py") if path.name != "style.py"),
    *(path for path in (ROOT / "workflow/report").rglob("*") if path.suffix in (".jinja", ".rst")),
]
CODE = r"#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?\b(?![-;])|\b(?:rgb|hsl)a?\([\d\s.,%]+\)"
NAMED = "|".join(CSS4_COLORS)


def test_no_colour_stands_outside_the_style():
    """Neither as a code nor, as a whole text of Python or a value of a style sheet, by its name."""
    found = []
    for path in SOURCES:
        if path.suffix == ".py":
            with tokenize.open(path) as file:
                strings = [one.string for one in tokenize.generate_tokens(file.readline) if one.type == tokenize.STRING]
            found += [(path.name, text) for text in strings if re.search(CODE, text)]
            found += [(path.name, text) for text in strings if re.fullmatch(rf"['\"](?:{NAMED})['\"]", text)]
        else:
            text = path.read_text(encoding="utf-8")
            found += [(path.name, code) for code in re.findall(CODE, text)]
            found += [(path.name, rule) for rule in re.findall(rf"[-\w]+:[^;{{}}\n]*\b(?:{NAMED})\s*[;}}]", text)]
    assert found == []


def test_no_width_of_a_line_stands_outside_the_style():
    """0 is no line."""
    of_figures = [path for path in SOURCES if path.parent.name == "figures"]
    written = re.compile(r"""(?:\b(?:lw|e?linewidths?)=|"lw": )[0-9.]*[1-9]""")
    assert [
        (path.name, written.findall(path.read_text("utf-8")))
        for path in of_figures
        if written.search(path.read_text("utf-8"))
    ] == []


def test_the_test_of_colours_finds_them():
    for text in ("#abc", "#0173b2", "rgb(1, 2, 3)"):
        assert re.search(CODE, text)
    assert not re.search(CODE, "claims.md#add-a-claim, #first-page, rgb(${shade})")


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
        paths = [tmp_path / run / f"figure.{suffix}" for suffix in ("svg", "png", "pdf")]
        figure = figure_of("attention_heatmap", attention_table({"alpha": 2}), models=MODELS[:1])
        save_figure(figure, *paths)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0][0]
    assert b"CreationDate" not in written[0][2]
    for run in ("first", "second"):
        assert sorted(path.name for path in (tmp_path / run).iterdir()) == ["figure.pdf", "figure.png", "figure.svg"]
    with Image.open(tmp_path / "first" / "figure.png") as image:
        assert 600 <= image.width <= 2000


@house_style()
def test_an_svg_is_small_text_is_text_and_coordinates_have_two_decimals(tmp_path):
    """The report holds dozens; no difference is one that the eye sees."""
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([0, 0.123456789, 1], [0, 1 / 3, 2 / 7])
    axes.set_title("A title with 0.123456 in it")
    save_figure(figure, tmp_path / "a.svg", tmp_path / "a.png")
    root = ET.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A title with 0.123456 in it" in texts
    styles = [element.attrib["style"] for element in root.iter() if "style" in element.attrib]
    assert not [look for look in styles if styles.count(look) > 2]
    rules = dict(re.findall(r"[.](s\d+){([^}]*)}", "".join(root.itertext())))
    assert {element.attrib["class"] for element in root.iter() if "class" in element.attrib} == rules.keys() != set()
    written = [value for element in root.iter() for value in element.attrib.values()]
    assert not [value for value in written if re.search(r"[.][0-9]{3}", value)]
    line = next(value for value in written if value.count("L") == 2 and value.startswith("M"))
    assert len(re.findall(r"[0-9.]+", line)) == 6
