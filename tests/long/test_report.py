"""The report in a browser, where a reader chooses curves and tokens; and Snakemake's own report beside it."""

import json
import re
import time

import polars as pl
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import chromium, kinds_of_requests, severe

SHADES = "return [...document.querySelectorAll('#left-text .token')].map(token => token.style.background)"
LINES = "return [...document.querySelectorAll('#charts .curve')].map(path => path.getAttribute('d'))"
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_a_reader_chooses_and_nothing_leaves_the_file(finished_run, tmp_path, width, height):
    with chromium(tmp_path, width, height) as browser:
        browser.get((finished_run / "results/report.html").as_uri())
        opened = drawn(browser)
        Select(browser.find_element(By.NAME, "view")).select_by_index(1)
        assert drawn(browser, opened) != opened
        choose_tokens(browser, finished_run / "results")
        assert browser.execute_script(WIDER) <= 0, "the page is wider than the screen"
        assert kinds_of_requests(browser) <= {"file", "data", "blob"}
        assert severe(browser) == []


def drawn(browser, before=()):
    """The lines of the charts, as soon as there are others than `before`."""
    for _ in range(200):
        if (lines := browser.execute_script(LINES)) and lines != before:
            return lines
        time.sleep(0.05)
    raise AssertionError("no lines")


def choose_tokens(browser, results):
    """What the script of tokens shows is what was measured, at the layer and of the token that are chosen."""
    data = json.loads(browser.execute_script("return document.getElementById('text-data').textContent"))
    review_id = data["reviews"][0][0]
    text = data["texts"]["tiny"][review_id]["original"]
    shown = browser.execute_script(SHADES)
    assert len(shown) == len(text["tokens"])
    slider = browser.find_element(By.ID, "text-layer")
    assert slider.get_attribute("aria-valuetext") == "layer 3 of 3"
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("aria-valuetext") == "layer 2 of 3"
    assert browser.execute_script(SHADES) != shown

    browser.find_element(By.ID, "left-text").send_keys(Keys.ARROW_RIGHT)
    tokens = pl.read_parquet(results / "measures/tiny/original/*/tokens.parquet")
    row = tokens.filter(review_id=review_id, layer=2).row(0, named=True)
    read = browser.find_element(By.ID, "left-read").text
    assert read.startswith(f"Token 2 of {text['n']}, \u201c{text['tokens'][1].strip()}\u201d")
    for name, column, within in (("mean direction", "cosine_to_mean", 0.02), ("norm", "norm", 0.06 * row["norm"][1])):
        number = float(re.search(rf"{name} (\S+?)(?: \u00d7|;)", read)[1].replace("\u2212", "-"))
        assert number == pytest.approx(row[column][1], abs=within)

    Select(browser.find_element(By.ID, "text-measure")).select_by_visible_text("attention received")
    slider.send_keys(Keys.HOME)
    assert set(browser.execute_script(SHADES)) == {""}, "nothing attends before the first block"
    for place, (review_id, _) in enumerate(data["reviews"]):
        Select(browser.find_element(By.ID, "text-review")).select_by_index(place)
        words = data["texts"]["tiny"][review_id]["front"]["tokens"]
        assert browser.find_element(By.ID, "right-text").text.startswith("BOS" + "".join(words[1:4]).strip())


def test_snakemake_reports_beside_it_and_a_report_that_fails_leaves_the_last(finished):
    finished.ask("--report", "snakemake.html")
    own = (finished.folder / "snakemake.html").read_text("utf-8")
    for figure in (finished.folder / "results/figures").glob("*.svg"):
        assert f"results/figures/{figure.name}" in own
    last = (finished.folder / "results/report.html").read_bytes()
    finished.edit("workflow/lib/homogenization/report/report.jinja", "<h2>Answer", "{{ nothing.at.all }}<h2>Answer")
    log = finished.folder / "results/logs/make_report.log"
    finished.run("--cores", "1", "results/report.html")
    assert "'nothing' is undefined" in log.read_text("utf-8")
    assert (finished.folder / "results/report.html").read_bytes() == last
