"""The report opened in a real browser: every figure is there, and nothing outside the file is asked for."""

import time

import pytest
from selenium.webdriver.common.by import By

from browser import chromium, kinds_of_requests, severe


@pytest.fixture
def browser(tmp_path):
    with chromium(tmp_path / "profile") as running:
        yield running


def displayed(browser, xpath: str):
    return [element for element in browser.find_elements(By.XPATH, xpath) if element.is_displayed()]


def click(browser, xpath: str, index: int = 0) -> None:
    """Click what is displayed at `xpath`, as soon as it is there."""
    for _ in range(100):
        found = displayed(browser, xpath)
        if len(found) > index:
            found[index].click()
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing to click at {xpath}")


def shown_figure(browser) -> str | None:
    """The source of the figure that the report shows now, once the browser has drawn it; None for a table."""
    script = (
        "return [...document.images].filter(i => i.src.startsWith('data:image/svg') && i.offsetWidth > 300 "
        "&& i.complete && i.naturalWidth > 0).map(i => i.src)"
    )
    for _ in range(40):
        if images := browser.execute_script(script):
            return images[0]
        time.sleep(0.05)
    return None


def test_every_figure_is_shown_and_no_request_leaves_the_file(finished_run, browser):
    report = finished_run / "results/report.html"
    figures = {str(path.relative_to(finished_run)) for path in (finished_run / "results/figures").rglob("*.svg")}
    browser.get(report.as_uri())
    results = browser.execute_script("return results")
    categories = browser.execute_script("return categories")
    in_menu = {path for path in results if path.endswith(".svg")}
    # of the figures of metrics and contrasts, the report lists those of a first look, which this study has not
    assert in_menu == {
        path for path in figures if not path.startswith(("results/figures/metrics/", "results/figures/contrasts/"))
    }
    figures = in_menu
    for category, groups in categories.items():
        keys = {tuple(results[path]["labels"]) for paths in groups.values() for path in paths}
        assert len(keys) == 1, f"{category}: a table of entries with holes"
    assert set(categories) == {
        "Causes",
        "Consequences",
        "Claims",
        "Contrasts",
        "Curves",
        "Metrics",
        "Position and attention",
        "Data",
    }
    # the first page says what holds: the grid, and below it words
    opening = browser.find_element(By.TAG_NAME, "body").text
    assert "Front: more alike than the original?" in opening
    assert "No control." in opening
    for words in (
        "What holds, in words",
        "Causes, what changed attention",
        "Consequences, whether",
        "A probe of pooled states",
    ):
        assert words in opening
    heading = browser.find_element(By.XPATH, "//h1[.='What this study found']")
    assert 0 <= heading.rect["y"] < 100, "the top of a high page can't be scrolled to"
    grid = browser.find_element(By.CSS_SELECTOR, "#first-page table")
    assert grid.rect["x"] + grid.rect["width"] <= 1366
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1366
    graph = browser.find_element(By.ID, "rulegraph")
    assert graph.rect["y"] > heading.rect["y"] + browser.find_element(By.ID, "first-page").rect["height"]
    # one click away: the claims, as a page in the page
    click(browser, "//a[starts-with(., 'every claim with its numbers')]")
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    for _ in range(100):
        if displayed(browser, "//table[@id='claims']//summary"):
            break
        time.sleep(0.05)
    assert displayed(browser, "//table[@id='claims']//summary")
    browser.switch_to.default_content()
    for path in figures:
        assert "<p>" in results[path]["caption"], f"{path} has no caption"
        assert "{{" not in results[path]["caption"]
        assert results[path]["labels"], path

    shown = set()
    for category, groups in categories.items():
        for index in range(sum(map(len, groups.values()))):
            browser.get(report.as_uri())
            click(browser, f"//a[normalize-space()='{category}']")
            click(browser, "//a[@iconname='eye']", index)
            shown.add(shown_figure(browser))
    assert shown - {None} == {results[path]["data_uri"] for path in figures}

    requested = kinds_of_requests(browser)
    assert requested
    assert requested <= {"file", "data", "blob"}
    assert severe(browser) == []
    assert report.stat().st_size < 10e6
