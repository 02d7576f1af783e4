"""Chromium without a window for tests of pages, which keeps a log of its requests."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def chromium(profile: Path, size: tuple[int, int] = (1366, 768)) -> Iterator:
    """A running browser whose profile stands in the folder `profile`; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--window-size={size[0]},{size[1]}",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield running
    finally:
        running.quit()


def require_silence(browser, address: str) -> None:
    """The page at `address` has asked for nothing outside of it, and has written no error."""
    entries = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [entry["params"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
    requested = {params["request"]["url"] for params in sent if params["documentURL"] == address}
    assert address in requested
    assert {url.split(":")[0] for url in requested} <= {"file", "data", "blob"}
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
