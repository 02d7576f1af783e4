"""The report opened in a real browser: every figure is there, and nothing outside the file is asked for."""

import json
import shutil
import time

import pytest

selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402


@pytest.fixture
def browser(tmp_path):
    """Chromium without a window, keeping a log of its requests."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1500,1100",
        f"--user-data-dir={tmp_path / 'profile'}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield running
    running.quit()


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
        "Metrics",
        "Position and attention",
        "Data",
    }
    # the first page says what holds
    opening = browser.find_element(By.TAG_NAME, "body").text
    assert "What holds." in opening
    assert "Front has a lower effective rank than Original." in opening
    assert "No claim on depth, position or attention was tested." in opening
    for words in ("Causes. What changed attention", "Consequences. Whether", "A probe of pooled states"):
        assert words in opening
    assert "not tested: the study has no metric normalized_effective_rank" in opening
    first_words = browser.find_element(By.XPATH, "//p[starts-with(., 'This report')]")
    assert first_words.rect["y"] >= 0, "the top of a high page can't be scrolled to"
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

    entries = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [entry["params"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
    requested = {params["request"]["url"] for params in sent if params["documentURL"] == report.as_uri()}
    assert requested
    assert {url.split(":")[0] for url in requested} <= {"file", "data", "blob"}
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
