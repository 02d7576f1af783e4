"""Chromium without a window, for tests that read pages as people do."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402


@contextmanager
def chromium(profile: Path, width: int = 1366, height: int = 768) -> Iterator[webdriver.Chrome]:
    """A browser whose pages have the given size, in CSS pixels, and that keeps a log of its requests."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless", "--no-sandbox", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    running.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield running
    running.quit()


def kinds_of_requests(browser: webdriver.Chrome) -> set[str]:
    """The schemes of the addresses that pages asked for since the last call: `file`, `data`, `blob`, or others."""
    entries = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [entry["params"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
    return {params["request"]["url"].split(":")[0] for params in sent if params["documentURL"].startswith("file:")}


def severe(browser: webdriver.Chrome) -> list[dict]:
    """What the console calls severe since the last call."""
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
