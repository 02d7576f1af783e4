"""The page of curves in a real browser: what is chosen by keyboard is drawn, shown and printed."""

import base64
import time

import pytest

selenium = pytest.importorskip("selenium")
from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from browser import chromium, kinds_of_requests, severe  # noqa: E402
from drawings import MODELS  # noqa: E402
from library.report.examples import page_of  # noqa: E402


def texts(browser) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('#charts text')].map(t => t.textContent)")


def lines(browser) -> list[str]:
    """The paths of the lines of all panels."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#charts .mark-line path')].map(path => path.getAttribute('d'))"
    )


def wait_for(holds, browser) -> None:
    """Until words are drawn, or a number of lines."""
    for _ in range(200):
        if len(lines(browser)) == holds if isinstance(holds, int) else any(holds in text for text in texts(browser)):
            return
        time.sleep(0.05)
    raise AssertionError(f"{holds!r} is not drawn; there are {len(lines(browser))} lines and {texts(browser)}")


def tab_to(browser, name: str):
    """Press Tab until the input `name` has the focus."""
    for _ in range(30):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        if focused.get_attribute("name") == name:
            return focused
    raise AssertionError(f"the Tab key does not reach {name}")


def test_a_reader_chooses_by_keyboard(tmp_path):
    page = tmp_path / "curves.html"
    page.write_text(page_of(), encoding="utf-8")
    with chromium(tmp_path / "profile") as browser:
        browser.get(page.as_uri())
        wait_for("Maximum explainable variance (singular anisotropy): as is, all tokens", browser)
        # two variants in two models, and a difference in each
        opened = lines(browser)
        assert len(opened) == 6
        width = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] <= width[1]

        tab_to(browser, "metric").send_keys(Keys.ARROW_DOWN)
        wait_for("Cosine anisotropy: all tokens", browser)
        wait_for("What cosine_anisotropy is.", browser)
        assert len(lines(browser)) == 6

        tab_to(browser, "view").send_keys(Keys.ARROW_DOWN)
        wait_for("Cosine anisotropy: without the first token", browser)

        tab_to(browser, "pair").send_keys(Keys.ARROW_DOWN)
        wait_for("Difference: End minus Original", browser)

        tab_to(browser, "m1").send_keys(Keys.SPACE)
        wait_for(3, browser)
        assert MODELS[0][1] in texts(browser)
        assert MODELS[1][1] not in texts(browser)

        tab_to(browser, "v2").send_keys(Keys.SPACE)
        wait_for(4, browser)
        assert lines(browser)[-1] not in opened

        # the last mark of a panel is an area around each marker that shows its numbers
        marker = browser.find_elements(By.CSS_SELECTOR, "#charts .mark-symbol path[opacity='0']")[0]
        ActionChains(browser).move_to_element(marker).perform()
        time.sleep(0.3)
        tooltip = browser.find_element(By.ID, "vg-tooltip-element").text
        for words in ("model", MODELS[0][1], "variant", "layer", "mean", "interval", " to ", "reviews"):
            assert words in tooltip

        printed = base64.b64decode(browser.print_page())
        assert printed.count(b"/Type /Page\n") == 1
        assert kinds_of_requests(browser) == {"file"}
        assert severe(browser) == []
