"""An SVG is as small as it can be without a difference that the eye sees: the report holds dozens."""

import re
import xml.etree.ElementTree as ET

from matplotlib.figure import Figure

from homogenization.figures.style import house_style, save_figure


@house_style()
def test_text_is_text_and_coordinates_have_two_decimals(tmp_path):
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([0, 0.123456789, 1], [0, 1 / 3, 2 / 7])
    axes.set_title("A title with 0.123456 in it")
    save_figure(figure, tmp_path / "a.svg", tmp_path / "a.png")
    root = ET.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A title with 0.123456 in it" in texts
    styles = [element.attrib["style"] for element in root.iter() if "style" in element.attrib]
    assert not [style for style in styles if styles.count(style) > 2]
    rules = dict(re.findall(r"[.](s\d+){([^}]*)}", "".join(root.itertext())))
    assert {element.attrib["class"] for element in root.iter() if "class" in element.attrib} == rules.keys() != set()
    written = [value for element in root.iter() for value in element.attrib.values()]
    assert not [value for value in written if re.search(r"[.][0-9]{3}", value)]
    line = next(value for value in written if value.count("L") == 2 and value.startswith("M"))
    assert len(re.findall(r"[0-9.]+", line)) == 6
