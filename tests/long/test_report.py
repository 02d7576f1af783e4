"""The report opened in a real browser: every figure is there, and nothing outside the file is asked for."""

import re
import time
from contextlib import suppress

import polars as pl
import pytest
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import chromium, kinds_of_requests, severe

ICONS = "//img | //iframe | //a[*[local-name()='svg'] and normalize-space()='']"
# text of the first page that ends outside of the window
TOO_WIDE = (
    "return [...document.querySelectorAll('.prose :is(h1, p, td, th)')]"
    ".filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)"
)
SHADES = "return [...document.querySelectorAll('#left-text .token')].map(t => t.style.background)"


@pytest.fixture
def browser(tmp_path):
    with chromium(tmp_path / "profile") as running:
        yield running


def displayed(browser, xpath: str):
    return [element for element in browser.find_elements(By.XPATH, xpath) if element.is_displayed()]


def click(browser, xpath: str, index: int = 0) -> None:
    """Click what is displayed at `xpath`, as soon as it is there and rests: a page that loads moves its entries."""
    before = None
    for _ in range(100):
        found = displayed(browser, xpath)
        place = found[index].rect if len(found) > index else None
        if place is not None and place == before:
            with suppress(ElementClickInterceptedException):
                return found[index].click()
        before = place
        time.sleep(0.05)
    raise AssertionError(f"nothing to click at {xpath}")


def open_entry(browser, category: str, index: int) -> None:
    """Open an entry of a category of the menu, whose first click is lost if the page does not listen yet."""
    for _ in range(6):
        click(browser, f"//a[normalize-space()='{category}']")
        with suppress(AssertionError):
            return click(browser, "//a[@iconname='eye']", index)
    raise AssertionError(f"{category}: no entry {index}")


def shown_figure(browser) -> str | None:
    """The source of the figure that the report shows now, once the browser has drawn it; None for a table."""
    source = browser.execute_script("return app.state.content === 'img' ? app.state.contentPath : null")
    drawn = (
        "return [...document.images].some(i => i.src === arguments[0] && i.offsetWidth > 300 "
        "&& i.complete && i.naturalWidth > 0)"
    )
    if source is not None:
        WebDriverWait(browser, 60, 0.05).until(lambda _: browser.execute_script(drawn, source))
    return source


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
        "Texts",
    }
    # the first page says what holds: the grid, and below it words
    opening = browser.find_element(By.TAG_NAME, "body").text
    assert "Front: more alike than the original?" in opening
    assert "No control." in opening
    for words in (
        "Whether front makes tokens",
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
            open_entry(browser, category, index)
            shown.add(shown_figure(browser))
            assert_nothing_is_cut(browser, 0.35 * 1366)
            assert all(element.accessible_name for element in displayed(browser, ICONS))
    assert shown - {None} == {results[path]["data_uri"] for path in figures}

    requested = kinds_of_requests(browser)
    assert requested
    assert requested <= {"file", "data", "blob"}
    assert severe(browser) == []
    assert report.stat().st_size < 10e6


def assert_nothing_is_cut(browser, menu_width: float) -> None:
    """What is shown begins inside its place, and the menu and its titles leave it room."""
    menu = browser.find_element(By.TAG_NAME, "nav")
    assert menu.rect["width"] <= menu_width
    assert browser.execute_script("return arguments[0].scrollWidth - arguments[0].clientWidth", menu) <= 1
    for shown in browser.find_elements(By.CSS_SELECTOR, ".items-center.h-screen.overflow-auto > *"):
        place = shown.find_element(By.XPATH, "..")
        assert shown.rect["y"] >= place.rect["y"]
        assert shown.rect["x"] >= place.rect["x"]


def test_on_a_phone_nothing_is_cut(finished_run, tmp_path):
    report = finished_run / "results/report.html"
    with chromium(tmp_path / "profile", 390, 844) as browser:
        browser.get(report.as_uri())
        categories = browser.execute_script("return categories")
        browser.find_element(By.XPATH, "//h1[.='What this study found']")
        assert browser.execute_script(TOO_WIDE) == []
        # a cell names its model itself
        shown = "return getComputedStyle(document.querySelector('#first-page td'), '::before').content"
        name = browser.find_element(By.CSS_SELECTOR, "#first-page thead th + th").get_attribute("textContent")
        assert browser.execute_script(shown) == f'"{name}"'
        for category, groups in categories.items():
            for index in range(sum(map(len, groups.values()))):
                browser.get(report.as_uri())
                open_entry(browser, category, index)
                assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
                assert_nothing_is_cut(browser, 390)


def test_on_paper_the_first_page_is_whole_and_without_the_menu(finished_run, browser):
    browser.get((finished_run / "results/report.html").as_uri())
    browser.find_element(By.XPATH, "//h1[.='What this study found']")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    hidden = "const e = document.querySelector('.prose').closest('.h-screen'); return e.scrollHeight - e.clientHeight"
    assert browser.execute_script(hidden) == 0


def test_a_text_is_coloured_by_the_slider_from_the_keyboard_and_nothing_is_asked_for(finished_run, browser):
    page = finished_run / "results/report/texts/tiny.html"
    texts = pl.read_parquet(finished_run / "results/examples/tiny.texts.parquet")
    assert page.stat().st_size < 3_000_000
    browser.get(page.as_uri())
    for _ in range(100):
        if browser.execute_script(SHADES):
            break
        time.sleep(0.05)
    slider = browser.find_element(By.ID, "layer")
    assert slider.get_attribute("aria-valuetext") == "layer 3 of 3"
    first = texts.filter(variant="original").row(0, named=True)
    shown = browser.execute_script(SHADES)
    assert len(shown) == len(first["tokens"])
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("aria-valuetext") == "layer 2 of 3"
    assert browser.execute_script(SHADES) != shown

    # what is read there is what was measured, in the first text, of the second token
    browser.find_element(By.ID, "left-text").send_keys(Keys.ARROW_RIGHT)
    tokens = pl.read_parquet(finished_run / "results/examples/tiny.tokens.parquet")
    row = tokens.filter(variant="original", review_id=first["review_id"], layer=2).row(0, named=True)
    read = browser.find_element(By.ID, "left-read").text
    assert read.startswith(f"Token 2 \u201c{first['tokens'][1].strip()}\u201d")
    number = float(re.search(r"cosine to the mean (\S+)", read)[1].replace("\u2212", "-"))
    assert number == pytest.approx(row["cosine_to_mean"][1], abs=0.01)
    metrics = pl.read_parquet(finished_run / "results/tables/metrics.parquet").filter(
        point="residual_stream", variant="original", review_id=first["review_id"], layer=2, view="raw"
    )
    rank = metrics.filter(metric="effective_rank")["value"].item()
    assert f"effective rank {float(f'{rank:.3g}'):g}" in browser.find_element(By.ID, "left-numbers").text

    for name in ("norm", "cosine_to_first", "cosine_to_chosen"):
        Select(browser.find_element(By.ID, "measure")).select_by_value(name)
        shades = set(browser.execute_script(SHADES))
        assert len(shades - {""}) > 3, f"{name}: one token blanks the others"
    Select(browser.find_element(By.ID, "measure")).select_by_value("attention")
    # random weights attend almost uniformly: the values of the layer tell tokens apart
    browser.find_element(By.ID, "own").click()
    assert len(set(browser.execute_script(SHADES))) > 3
    slider.send_keys(Keys.HOME)
    assert set(browser.execute_script(SHADES)) == {""}, "nothing attends before the first block"
    for place, review_id in enumerate(texts["review_id"].unique(maintain_order=True)):
        Select(browser.find_element(By.ID, "review")).select_by_index(place)
        text = texts.filter(variant="front", review_id=review_id).row(0, named=True)
        assert browser.find_element(By.ID, "right-text").text.startswith("<s>" + "".join(text["tokens"][1:4]))

    assert kinds_of_requests(browser) <= {"file", "data", "blob"}
    assert severe(browser) == []
