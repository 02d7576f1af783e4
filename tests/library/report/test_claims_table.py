"""The table of claims, read and used in a browser by keyboard; its numbers, from tables/claims.csv."""

import base64
import math
import time

import polars as pl
import pytest
import yaml
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser import chromium, kinds_of_requests, severe
from conftest import ROOT
from homogenization.config.presentation import claims_page_parameters
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.numbers import share_of_range, significant
from homogenization.report.claims_table import claims_page
from homogenization.report.page import packed
from studies import OWN, make_study

TEMPLATES = {
    name: (ROOT / f"workflow/report/pages/{file}.jinja").read_text("utf-8")
    for name, file in (("template", "claims_table"), ("row_template", "claim"))
}


def page_of(made, claims=None) -> str:
    claims = made.tables["claims"] if claims is None else claims
    return claims_page(claims, made.tables["comparisons"], **claims_page_parameters(made.study), **TEMPLATES)


@pytest.fixture(scope="module")
def made():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return make_study(yaml.safe_load((ROOT / "config/config.yaml").read_text()))


@pytest.fixture(scope="module")
def file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "claims.html"
    path.write_text(packed(page_of(made)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(running, file):
    running.get(file.as_uri())
    WebDriverWait(running, 60).until(lambda _: running.find_elements(By.CSS_SELECTOR, "#claims thead button"))
    return running


def judged_claims(made) -> pl.DataFrame:
    return made.tables["claims"].filter(pl.col("verdict") != "not tested")


def cells(browser) -> list[list[str]]:
    """The cells of every row that is shown."""
    script = "return [...document.querySelectorAll('#claims tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    return browser.execute_script(script)


def button(browser, name: str):
    """What has this accessible name."""
    found = [one for one in browser.find_elements(By.TAG_NAME, "button") if one.accessible_name == name]
    assert len(found) == 1, name
    return found[0]


def of_depth(row) -> str:
    """A size without a sign and its side; of what is no difference, the share as it is."""
    if math.isnan(row["relative_effect"]):
        return ""
    if row["statistic"] not in ("net_change", "slope", "contrast", "intervention", "consequence", "arms"):
        return share_of_range(row["relative_effect"], row["depth_range"])
    direction = describe_metric(row["metric"]).homogenization
    more, less = ("more alike", "less alike") if direction else ("higher", "lower")
    side = more if row["estimate"] * (direction or 1) > 0 else less
    return f"{share_of_range(abs(row['relative_effect']), row['depth_range'])} {side}"


def test_a_row_has_the_numbers_of_its_claim(browser, made):
    labels = made.study.figures.labels
    expected = sorted(
        (
            row["statement"],
            row["layers"] or "over depth",
            labels.get(row["model"], "all models"),
            row["verdict"],
            of_depth(row),
            significant(row["estimate"]),
            significant(row["ci_low"]) if row["ci_low"] == row["ci_low"] else "",
            str(row["n_reviews"]),
            row["fragile"],
        )
        for row in judged_claims(made).iter_rows(named=True)
    )
    found = []
    for statement, _, layers, model, verdict, checks, share, estimate, n in cells(browser):
        number, _, interval = estimate.partition(" [")
        low = interval.partition(",")[0]
        words = verdict.partition(" ")[2]
        found.append(
            (statement, layers, model, words, share.replace("\u00a0", " "), number, low, n, "fragile" in checks)
        )
    assert sorted(found) == expected


def test_it_is_small_and_asks_for_nothing_outside(browser, file):
    assert file.stat().st_size < 2e6
    assert kinds_of_requests(browser) <= {"file", "data", "blob"}
    assert severe(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1366


def test_a_claim_opens_by_keyboard_and_says_what_is_compared_and_checked(browser, made):
    summary = browser.find_element(By.CSS_SELECTOR, "#claims tbody summary")
    assert summary.accessible_name
    summary.send_keys(Keys.ENTER)
    details = browser.find_element(By.CSS_SELECTOR, "#claims details[open]").text
    row = made.tables["claims"].filter(claim="front-lowers-effective-rank", model="smollm2").row(0, named=True)
    for words in (
        "normalized_effective_rank",
        "front minus original",
        "mean difference over all layers < 0",
        f"[{significant(row['ci_low'])}, {significant(row['ci_high'])}]",
        f"{significant(row['robust'])} [",
        f"{row['n_reviews']} reviews, p ",
        "fragile",
        "imbalance",
    ):
        assert words in details


@pytest.mark.parametrize("column", ["Source", "Layers", "Model", "Verdict"])
def test_a_column_filters_by_keyboard(browser, column):
    place = ["Claim", "Source", "Layers", "Model", "Verdict"].index(column)
    values = [row[place] for row in cells(browser)]
    chosen = min(set(values), key=values.count)
    button(browser, f"Sort and filter {column}").send_keys(Keys.ENTER)
    focused = browser.switch_to.active_element
    assert focused.accessible_name == f"Sort {column} from A to Z", "the keyboard goes where the list opens"
    button(browser, chosen).send_keys(Keys.ENTER)
    assert [row[place] for row in cells(browser)] == [chosen] * values.count(chosen)
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not browser.find_elements(By.CSS_SELECTOR, ".dtcc-dropdown")
    assert f"{values.count(chosen)} of {len(values)} rows" in browser.find_element(By.TAG_NAME, "body").text


def test_numbers_sort_as_numbers(browser, made):
    """From the least alike to the most; what is about something else by its sign."""
    sized = judged_claims(made).filter(pl.col("relative_effect").is_finite())
    rows = sorted(
        sized.to_dicts(),
        key=lambda row: row["relative_effect"] * (describe_metric(row["metric"]).homogenization or 1),
    )
    wanted = [of_depth(row) for row in rows]
    button(browser, "Sort by Of depth").send_keys(Keys.ENTER)
    for _ in range(100):  # the table is drawn anew a moment after the key
        shown = [share for row in cells(browser) if (share := row[6].replace("\u00a0", " "))]
        if shown == wanted:
            break
        time.sleep(0.05)
    assert shown == wanted


def test_every_control_has_a_name_of_its_own(browser):
    controls = browser.find_elements(By.CSS_SELECTOR, "button, input, select")
    names = [control.accessible_name for control in controls]
    assert all(names)
    assert len(set(names)) == len(names)
    assert "Search all columns:" in names
    headings = browser.find_elements(By.CSS_SELECTOR, "#claims thead th")
    assert all(heading.aria_role == "columnheader" for heading in headings)


def test_what_is_not_tested_is_folded_with_its_reasons(browser, made):
    untested = made.tables["claims"].filter(verdict="not tested")
    statements, reasons = set(untested["statement"]), set(untested["reason"])
    assert statements
    assert not {row[0] for row in cells(browser)} & (statements - set(judged_claims(made)["statement"]))
    summary = browser.find_element(By.CSS_SELECTOR, "section summary")
    section = browser.find_element(By.TAG_NAME, "section")
    assert not any(reason in section.text for reason in reasons)
    summary.send_keys(Keys.ENTER)
    assert all(words in section.text for words in statements | reasons)


def test_on_paper_it_has_every_row_and_no_control(browser):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not any(one.is_displayed() for one in browser.find_elements(By.CSS_SELECTOR, "button, input"))
        assert all(row.is_displayed() for row in browser.find_elements(By.CSS_SELECTOR, "#claims tbody tr")[-3:])
        pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 1


def test_names_and_statements_are_text_and_no_markup(made):
    """A statement is the user's own, and so is the name of a model."""
    claims = made.tables["claims"].head(1).with_columns(statement=pl.lit("<img src=x> & less"), source=pl.lit("<b>me"))
    page = page_of(made, claims)
    assert "<img" not in page
    assert "<b>me" not in page


def test_a_study_that_tests_no_claim_says_so():
    study = make_study(OWN | {"claims": None})
    assert "The study tests none of its claims." in page_of(study)


def test_a_correlation_has_the_interval_of_its_distance_to_that_without_the_first_token(made):
    numbers = {"without_first": 0.25, "beyond_low": -0.125, "beyond_high": 0.5}
    row = made.tables["claims"].head(1).with_columns(**{name: pl.lit(value) for name, value in numbers.items()})
    shown = page_of(made, row).replace(r"\\u2212", "−")  # the rows stand in a script
    assert "0.25; the estimate is above that by −0.125 to 0.5 (interval)</dd>" in shown
