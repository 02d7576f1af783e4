"""The report of a made-up study: it parses, stands alone, has its sections, and says what the tables say."""

import re

import polars as pl
import pytest

from library.report.made_report import BAD, MODELS, ORIGIN, Read, claims_table, made_page, tables

BIG, SMALL = (label for _, label in MODELS)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return made_page(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def read(page):
    return Read(page)


def numbers(cell):
    return [float(number.replace("−", "-")) for number in re.findall(r"[−\d.]+", cell)]


def test_it_has_its_sections_and_asks_for_nothing_outside(page, read):
    sections = [attributes["id"] for tag, attributes in read.tags if tag == "section"]
    assert sections == ["answer", "texts", "curves", "claims", "appendix"]
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "an id stands twice"
    for tag, attributes in read.tags:
        assert tag not in ("img", "iframe", "link", "base"), tag
        assert not attributes.get("src", attributes.get("xlink:href")), attributes
        target = attributes.get("href", "#answer")
        assert target.removeprefix("#") in ids, f"{target} leads nowhere"
    assert "@import" not in page.partition("</style>")[0]


def test_what_people_write_is_text(page, read):
    assert page.count(BAD) == 0
    for text in (BIG, f"Front {BAD}", f"Mine {BAD}", f"Rank {BAD}", BAD, ORIGIN["configuration"].strip()):
        assert " ".join(text.split()) in " ".join(read.text.split()), text
    assert "Falls < rises." in read.text


def test_the_numbers_of_the_verdicts_are_those_of_the_table(read):
    head, *rows = read.tables["verdicts"]
    assert head == ["Claim", BIG, SMALL]
    cells = [[cell.split()[0].rstrip("*"), *numbers(cell)] for line in rows for cell in line[1:] if cell.strip()]
    headline = claims_table().filter((pl.col("view") != "raw") | (pl.col("claim") == "own"))
    for verdict, *wanted in headline.select("verdict", "estimate", "ci_low", "ci_high", "n_reviews").rows():
        assert [verdict, *wanted] in cells
    assert not any("End is lower" in line[0] for line in rows), "what no model tests stands below"
    assert "no variant `end`" in read.text
    assert "Of 1 claims, 1 has another verdict with the first token: 1." in " ".join(read.text.split())


def test_groups_stand_below_the_whole_and_a_mark_has_its_footnote(read):
    rows = read.tables["verdicts"]
    at = next(place for place, row in enumerate(rows) if "Front is lower" in row[0])
    assert [row[0].strip() for row in rows[at + 1 : at + 3]] == ["category news", f"category {BAD}"]
    assert [numbers(row[1]) for row in rows[at + 1 : at + 3]] == [[0.05, 0.03, 0.07, 20], [-0.07, -0.08, -0.06, 20]]
    assert ["*" in row[2] for row in rows].count(True) == 2
    assert "* 2: the control is out of balance: first word." in read.text


def test_what_to_distrust_is_said_where_it_applies(read, tmp_path):
    doubts = ["Few texts: a verdict rests on 18", "Quantised weights: Small", "Inward: 11 of 20 texts", "No control"]
    doubts += ["Unbalanced control, front − inward: first word", f"{BIG}: 3 texts were too long"]
    for doubt in doubts:
        assert doubt in read.text
    sound = {"balance": None, "claims": claims_table().with_columns(n_reviews=pl.lit(80, pl.Int64))}
    without = Read(made_page(tmp_path, sound, left_out=0, uncontrolled=[], weights={"big": {}, "small": {}})).text
    assert not any(doubt.partition(":")[0] in without for doubt in [*doubts[:2], *doubts[3:5]])


def test_a_study_without_claims_or_figures_has_a_page(tmp_path):
    empty = {"claims": None, "balance": None, "summary": tables()["summary"].clear()}
    read = Read(made_page(tmp_path, empty, figures=[], csv=[]))
    assert [of["id"] for tag, of in read.tags if tag == "section"] == ["answer", "texts", "appendix"]
