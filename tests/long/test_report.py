"""The report and its pages: every figure is there, labels stand as written, and nothing outside is asked for."""

import json
import re
import time

import polars as pl
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import chromium, kinds_of_requests, severe

SHADES = "return [...document.querySelectorAll('#left-text .token')].map(t => t.style.background)"
LINES = "return [...document.querySelectorAll('#charts .mark-line path')].map(path => path.getAttribute('d'))"


@pytest.fixture
def browser(tmp_path):
    with chromium(tmp_path / "profile") as running:
        yield running


def test_every_figure_and_page_is_in_the_report_and_no_request_leaves_the_file(finished_run, browser):
    report = finished_run / "results/report.html"
    figures = {str(path.relative_to(finished_run)) for path in (finished_run / "results/figures").rglob("*.svg")}
    # of the figures of metrics and contrasts, the report lists those of a first look, which this study has not
    kinds = ("results/figures/metrics/", "results/figures/contrasts/")
    pages = {f"results/report/{page}.html" for page in ("first_page", "curves", "texts/tiny")}
    browser.get(report.as_uri())
    results = browser.execute_script("return results")
    assert {path for path in results if not path.endswith(".csv")} == pages | {
        path for path in figures if not path.startswith(kinds)
    }
    for path, shown in results.items():
        assert "<p>" in shown["caption"], f"{path} has no caption"
        assert "{{" not in shown["caption"]
        assert shown["labels"], path
    assert kinds_of_requests(browser) <= {"file", "data", "blob"}
    assert severe(browser) == []


def test_a_reader_chooses_curves(finished_run, browser):
    browser.get((finished_run / "results/report/curves.html").as_uri())
    opened = drawn(browser)
    Select(browser.find_element(By.CSS_SELECTOR, "select[name=metric]")).select_by_index(1)
    assert drawn(browser, opened) != opened
    assert kinds_of_requests(browser) <= {"file", "data", "blob"}
    assert severe(browser) == []


def drawn(browser, before=()):
    """The lines of all panels, as soon as there are others than `before`."""
    for _ in range(200):
        if (lines := browser.execute_script(LINES)) and lines != before:
            return lines
        time.sleep(0.05)
    raise AssertionError("no lines")


def test_a_label_stands_as_it_is_written_and_a_report_that_fails_leaves_the_last(finished):
    finished.config["figures"] = {"labels": {"tiny": "Tiny 🎬 {base} {model}"}}
    finished.make("results/report.html")
    report = finished.folder / "results/report.html"
    menu = json.loads('"' + re.search(r'"labels": {"model": "(Tiny[^"]*)"', report.read_text("utf-8"))[1] + '"')
    assert menu.replace("\N{ZERO WIDTH SPACE}", "") == "Tiny 🎬 {base} {model}"
    last = report.read_bytes()
    finished.edit("workflow/report/workflow.rst", "**The study.**", "{{ nothing.at.all }}")
    finished.fails("--forcerun", "make_report", "results/report.html")
    assert report.read_bytes() == last


def test_a_text_is_coloured_by_the_slider_from_the_keyboard_and_nothing_is_asked_for(finished_run, browser):
    page = finished_run / "results/report/texts/tiny.html"
    assert page.stat().st_size < 3_000_000
    browser.get(page.as_uri())
    for _ in range(100):
        if browser.execute_script(SHADES):
            break
        time.sleep(0.05)
    slider = browser.find_element(By.ID, "layer")
    assert slider.get_attribute("aria-valuetext") == "layer 3 of 3"
    data = json.loads(browser.execute_script("return document.getElementById('data').textContent"))
    first, review_id = data["reviews"][0]["texts"]["original"], data["reviews"][0]["id"]
    shown = browser.execute_script(SHADES)
    assert len(shown) == len(first["tokens"])
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("aria-valuetext") == "layer 2 of 3"
    assert browser.execute_script(SHADES) != shown

    # what is read there is what was measured, in the first text, of the second token
    browser.find_element(By.ID, "left-text").send_keys(Keys.ARROW_RIGHT)
    tokens = pl.read_parquet(finished_run / "results/measures/tiny/original/*/tokens.parquet")
    row = tokens.filter(review_id=review_id, layer=2).row(0, named=True)
    read = browser.find_element(By.ID, "left-read").text
    assert read.startswith(f"Token 2 \u201c{first['tokens'][1].strip()}\u201d")
    number = float(re.search(r"cosine to the mean direction (\S+)", read)[1].replace("\u2212", "-"))
    assert number == pytest.approx(row["cosine_to_mean"][1], abs=0.01)
    metrics = pl.read_parquet(finished_run / "results/tables/metrics.parquet").filter(
        point="residual_stream", variant="original", review_id=review_id, layer=2, view="raw"
    )
    rank = metrics["effective_rank"].item()
    assert f"effective rank {float(f'{rank:.3g}'):g}" in browser.find_element(By.ID, "left-numbers").text

    Select(browser.find_element(By.ID, "measure")).select_by_value("norm")
    assert len(set(browser.execute_script(SHADES)) - {""}) > 3, "one token blanks the others"
    Select(browser.find_element(By.ID, "measure")).select_by_value("attention")
    # random weights attend almost uniformly: on the scale of the layer, tokens still differ
    browser.find_element(By.ID, "own").click()
    assert len(set(browser.execute_script(SHADES))) > 1
    slider.send_keys(Keys.HOME)
    assert set(browser.execute_script(SHADES)) == {""}, "nothing attends before the first block"
    for place, of_review in enumerate(data["reviews"]):
        Select(browser.find_element(By.ID, "review")).select_by_index(place)
        words = of_review["texts"]["front"]["tokens"]
        assert browser.find_element(By.ID, "right-text").text.startswith("BOS" + "".join(words[1:4]))

    assert kinds_of_requests(browser) <= {"file", "data", "blob"}
    assert severe(browser) == []
