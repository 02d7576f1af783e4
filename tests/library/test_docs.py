"""The documentation says what the code does: names, end values, columns, examples, links, the rule graph."""

import re
import shutil
import tomllib
from importlib import import_module
from math import log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from conftest import ROOT, SMALL, Project, copy_workflow
from homogenization.config.analysis import Mauve
from homogenization.config.claims import STATISTICS, Claim, Contrast, load_claims
from homogenization.config.study import Study, load_study
from homogenization.consequences.schemas import (
    HARM_SCHEMA,
    POOLED_READINGS_SCHEMA,
    POOLED_STATES_SCHEMA,
    TEXTS_SCHEMA,
)
from homogenization.corpus.sentences import words
from homogenization.interventions.schemas import DELIVERED_SCHEMA, DOSES_SCHEMA, INTERVENED_SCHEMA, SLOPES_SCHEMA
from homogenization.measures import views
from homogenization.measures.attention import ATTENTION_SCHEMA, attention_profile, uniform_attention
from homogenization.measures.components import COMPONENT_STATES_SCHEMA
from homogenization.measures.geometry import GEOMETRY_SCHEMA, token_geometry
from homogenization.measures.mauve import MAUVE_SCHEMA
from homogenization.measures.positional import POSITIONAL_SUMS_SCHEMA
from homogenization.measures.sinks import SINKS_SCHEMA
from homogenization.measures.spectra import SPECTRA_SCHEMA, singular_values
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch
from homogenization.plan.costs import PLAN_SCHEMA
from homogenization.plan.durations import DURATIONS_SCHEMA
from homogenization.statistics.blocks import BLOCKS_SCHEMA
from homogenization.statistics.causes import RESPONSE_SCHEMA
from homogenization.statistics.claims import CLAIMS_SCHEMA
from homogenization.statistics.consequence_answers import ANSWERS_SCHEMA
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.statistics.depth import DEPTH_SCHEMA
from homogenization.statistics.extrema import EXTREMA_SCHEMA
from homogenization.statistics.first_token import FIRST_TOKEN_SCHEMA
from homogenization.statistics.interventions import EFFECTS_SCHEMA, SLOPE_MEANS_SCHEMA
from homogenization.statistics.mechanism import DELIVERED_MEANS_SCHEMA
from homogenization.statistics.mechanism_in_words import MECHANISM_SCHEMA
from homogenization.statistics.peaks_in_words import PEAKS_SCHEMA
from homogenization.statistics.pooled_states import PROBES_SCHEMA, SHIFTS_SCHEMA
from homogenization.statistics.predictability import PREDICTABILITY_SCHEMA
from homogenization.statistics.predictions import CAUSES_SCHEMA, PREDICTIONS_SCHEMA
from homogenization.statistics.sensitivity import SENSITIVITY_SCHEMA
from homogenization.statistics.training_in_words import TRAINING_ANSWERS_SCHEMA
from homogenization.tables.arms import ARMS_SCHEMA
from homogenization.tables.attention import ATTENTION_PROFILE_SCHEMA
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from homogenization.tables.components import COMPONENTS_SCHEMA
from homogenization.tables.cosines import COSINES_SCHEMA
from homogenization.tables.extraction import EXTRACTION_SCHEMA
from homogenization.tables.imbalance import BALANCE_SCHEMA
from homogenization.tables.intervened import (
    DOSE_MEANS_SCHEMA,
    INTERVENED_BY_REVIEW_SCHEMA,
    INTERVENED_LAYERS_SCHEMA,
)
from homogenization.tables.mauve import MAUVE_SUMMARY_SCHEMA
from homogenization.tables.metrics import METRICS_SCHEMA
from homogenization.tables.placement import PLACEMENT_SCHEMA
from homogenization.tables.positional import POSITIONAL_SCHEMA, TEMPLATES_SCHEMA
from homogenization.tables.rewriting import CANDIDATES_SCHEMA, REWRITING_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA, SIMILARITY_SCHEMA
from homogenization.tables.sinks import SINKS_TABLE_SCHEMA
from homogenization.tables.summary import summary_table
from homogenization.tables.training import TRAINING_SCHEMA
from homogenization.variants.keyphrases import candidates, key_phrases
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import move_by_rules
from homogenization.variants.schemas import FLUENCY_SCHEMA, KEYPHRASE_SCHEMA, SCORE_SCHEMA
from unparsed import unparsed

DOCS = ROOT / "docs"
LIBRARY = ROOT / "workflow/lib/homogenization"
STAGES = ("corpus", "variants", "states", "measures", "tables", "statistics", "figures", "plan")
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "config/README.md", ROOT / "benchmarks/README.md", *DOCS.glob("**/*.md")])
METRICS_PAGE = (DOCS / "metrics.md").read_text(encoding="utf-8")
MEASURES_PAGE = (DOCS / "measures.md").read_text(encoding="utf-8")
TABLES_PAGE = (DOCS / "tables.md").read_text(encoding="utf-8")
CLAIMS_PAGE = (DOCS / "claims.md").read_text(encoding="utf-8")
# examples of a configuration
EXAMPLE_PAGES = (
    "corpus.md",
    "variants.md",
    "writers.md",
    "states.md",
    "training.md",
    "extending.md",
)  # examples of a configuration
SUMMARY_SCHEMA = summary_table(pl.DataFrame(schema=METRICS_SCHEMA)).schema
SCHEMAS = {
    "similarity.parquet": SIMILARITY_SCHEMA,
    "acceptance.csv": ACCEPTANCE_SCHEMA,
    "candidates.parquet": CANDIDATES_SCHEMA,
    "rewriting.csv": REWRITING_SCHEMA,
    "placement.parquet": PLACEMENT_SCHEMA,
    "balance.csv": BALANCE_SCHEMA,
    "metrics.parquet": METRICS_SCHEMA,
    "summary.parquet": SUMMARY_SCHEMA,
    "mauve.parquet": MAUVE_SUMMARY_SCHEMA,
    "attention.parquet": ATTENTION_PROFILE_SCHEMA,
    "cosines.parquet": COSINES_SCHEMA,
    "extraction.parquet": EXTRACTION_SCHEMA,
    "common_length.parquet": METRICS_SCHEMA,
    "contrasts.parquet": CONTRASTS_SCHEMA,
    "comparisons.csv": COMPARISONS_SCHEMA,
    "depth.parquet": DEPTH_SCHEMA,
    "extrema.parquet": EXTREMA_SCHEMA,
    "extrema_blocks.parquet": BLOCKS_SCHEMA,
    "peaks.csv": PEAKS_SCHEMA,
    "first_token.parquet": FIRST_TOKEN_SCHEMA,
    "components.parquet": COMPONENTS_SCHEMA,
    "intervened.parquet": INTERVENED_BY_REVIEW_SCHEMA,
    "intervened_layers.parquet": INTERVENED_LAYERS_SCHEMA,
    "doses.csv": DOSE_MEANS_SCHEMA,
    "interventions.parquet": EFFECTS_SCHEMA,
    "slopes.parquet": SLOPE_MEANS_SCHEMA,
    "delivered.parquet": DELIVERED_MEANS_SCHEMA,
    "mechanism.csv": MECHANISM_SCHEMA,
    "predictions.csv": PREDICTIONS_SCHEMA,
    "consequences.parquet": INTERVENED_BY_REVIEW_SCHEMA,
    "probes.parquet": PROBES_SCHEMA,
    "shifts.parquet": SHIFTS_SCHEMA,
    "predictability.parquet": PREDICTABILITY_SCHEMA,
    "harm.csv": HARM_SCHEMA,
    "consequences.csv": ANSWERS_SCHEMA,
    "causes.csv": CAUSES_SCHEMA,
    "training.parquet": TRAINING_SCHEMA,
    "training.csv": TRAINING_ANSWERS_SCHEMA,
    "arms.parquet": ARMS_SCHEMA,
    "positional.parquet": POSITIONAL_SCHEMA,
    "templates.parquet": TEMPLATES_SCHEMA,
    "sinks.parquet": SINKS_TABLE_SCHEMA,
    "sensitivity.parquet": SENSITIVITY_SCHEMA,
    "sensitivity.csv": RESPONSE_SCHEMA,
    "claims.csv": CLAIMS_SCHEMA,
    "plan.csv": PLAN_SCHEMA,
    "durations.csv": DURATIONS_SCHEMA,
    "geometry/{model}/{variant}/{shard}.parquet": GEOMETRY_SCHEMA,
    "attention/{model}/{variant}/{shard}.parquet": ATTENTION_SCHEMA,
    "components/{model}/{variant}/{shard}.parquet": COMPONENT_STATES_SCHEMA,
    "interventions/{model}/{variant}/{shard}.parquet": INTERVENED_SCHEMA,
    "interventions/{model}/{variant}/{shard}.doses.parquet": DOSES_SCHEMA,
    "interventions/{model}/{variant}/{shard}.slopes.parquet": SLOPES_SCHEMA,
    "interventions/{model}/{variant}/{shard}.delivered.parquet": DELIVERED_SCHEMA,
    "consequences/{model}/{text}/{shard}.texts.parquet": TEXTS_SCHEMA,
    "consequences/{model}/{text}/{shard}.states.parquet": POOLED_STATES_SCHEMA,
    "consequences/{model}.parquet": POOLED_READINGS_SCHEMA,
    "positional/{model}/{variant}/{shard}.parquet": POSITIONAL_SUMS_SCHEMA,
    "sinks/{model}/{variant}/{shard}.parquet": SINKS_SCHEMA,
}
FILE_SCHEMAS = {
    "keyphrases/{shard}.parquet": KEYPHRASE_SCHEMA,
    "similarity/{variant}/{shard}.parquet": SCORE_SCHEMA,
    "fluency/{variant}/{shard}.parquet": FLUENCY_SCHEMA,
    "spectra/{model}/{variant}/{shard}.parquet": SPECTRA_SCHEMA,
    "mauve/{model}/{variant}/{shard}.parquet": MAUVE_SCHEMA,
}


def rows_of(page: str) -> list[list[str]]:
    """The cells of every row of every Markdown table of a page."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]


def row_named(name: str) -> list[str]:
    """The row of docs/metrics.md whose first cell is `name`."""
    found = [row for row in rows_of(METRICS_PAGE) if row[0] == f"`{name}`"]
    assert len(found) == 1, f"docs/metrics.md has {len(found)} rows for {name}"
    return found[0]


def documented_columns(heading: str) -> dict[str, str]:
    """Column -> type of the first table under a heading of docs/tables.md."""
    section = re.split(r"^#+ ", TABLES_PAGE.split(f"### `{heading}`\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return {row[0].strip("` "): row[1] for row in rows_of(section)[2:]}


def as_text(schema) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in schema.items()}


def evaluated(expression: str, n: int, s: float) -> float:
    """The number that a cell such as `s√n` or `n^(1/4)` stands for."""
    if expression == "NaN":
        return np.nan
    spelt = {"s√": "s*√", "√n": "sqrt(n)", "ln n": "log(n)", "^": "**", "−": "-"}
    for written, python in spelt.items():
        expression = expression.replace(written, python)
    harmonic = sum(1 / k for k in range(1, n + 1))
    return eval(expression, {"sqrt": sqrt, "log": log, "n": n, "s": s, "H_n": harmonic})


def spectral_value(name: str, tokens: np.ndarray) -> float:
    values = singular_values(tokens, ["raw"])["raw"]
    return SPECTRAL_METRICS[name].compute(SpectrumBatch(values[None], np.array([len(values)])))[0]


def geometry_value(name: str, tokens: np.ndarray) -> float:
    columns = {key: np.array([value]) for key, value in token_geometry(tokens).items()}
    columns["n_tokens"] = np.array([len(tokens)])
    return GEOMETRY_METRICS[name].compute(columns, GEOMETRY_METRICS[name].views[0])[0]


@pytest.mark.parametrize("name", SPECTRAL_METRICS | GEOMETRY_METRICS)
def test_the_documented_end_values_of_a_metric_are_those_of_its_code(name):
    n, d, s = 6, 9, 2.5
    row = row_named(name)
    compute = spectral_value if name in SPECTRAL_METRICS else geometry_value
    identical, orthonormal = (row[3], row[4]) if name in SPECTRAL_METRICS else (row[4], row[5])
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(d, n)))[0].T
    same = np.tile(s * turned[0], (n, 1))
    # rounding of equal rows: the square root of 8 eps
    assert compute(name, same) == pytest.approx(evaluated(identical, n, s), abs=1e-7, nan_ok=True)
    assert compute(name, turned) == pytest.approx(evaluated(orthonormal, n, 1), abs=1e-9)


@pytest.mark.parametrize("name", ATTENTION_METRICS)
@pytest.mark.parametrize("causal", [True, False])
def test_the_documented_baseline_of_an_attention_metric_is_that_of_its_code(name, causal):
    n = 7
    cell = row_named(name)[3 if causal else 4]
    uniform = uniform_attention(n, causal)
    columns = {key: np.atleast_1d(value) for key, value in vars(attention_profile(uniform, causal)).items()}
    columns |= {key: columns[key][None] for key in ("received", "uniform", "tokens")} | {"n_tokens": np.array([n])}
    if cell:
        value = ATTENTION_METRICS[name].compute(columns, ATTENTION_METRICS[name].views[0])[0]
        assert value == pytest.approx(evaluated(cell, n, 1))


def test_every_metric_says_which_tokens_it_is_for():
    said = {("all_tokens", "without_first"): "both", ("all_tokens",): "all tokens", ("without_first",): "without first"}
    for name, metric in (GEOMETRY_METRICS | ATTENTION_METRICS).items():
        assert row_named(name)[2] == said[metric.views], name


def test_views_metrics_and_their_configuration_are_documented():
    for name in METRIC_NAMES:
        assert f"`{name}`" in METRICS_PAGE, name
    for name in views.VIEWS:
        assert f"`{name}`" in MEASURES_PAGE, name
    keys = ["views", "metrics", "figures.views", "states.dtype", "states.record_attention"]
    for key in (*keys, *(f"mauve.{name}" for name in Mauve.model_fields)):
        assert re.search(rf"`{re.escape(key)}[`:]", METRICS_PAGE + MEASURES_PAGE), key
        section = Study
        for part in key.split("."):
            field = section.model_fields[part]
            section = field.annotation


@pytest.mark.parametrize("heading", SCHEMAS)
def test_a_table_is_documented_with_its_columns_in_their_order(heading):
    assert list(documented_columns(heading).items()) == list(as_text(SCHEMAS[heading]).items())


@pytest.mark.parametrize("file", FILE_SCHEMAS)
def test_an_intermediate_file_is_documented_with_its_columns_in_their_order(file):
    row = next(row for row in rows_of(TABLES_PAGE) if row[0] == f"`{file}`")
    assert re.findall(r"`(\w+)` ([A-Z]\w+(?:\(\w+\))?)", row[2]) == list(as_text(FILE_SCHEMAS[file]).items())


def test_every_table_of_the_workflow_is_documented():
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    named = set(re.findall(r'"<results>/(?:tables|plan)/(\w+\.(?:parquet|csv))"', rules))
    assert {"summary.csv", "plan.csv"} < named
    headings = re.findall(r"^### `(\w+\.\w+)`$", TABLES_PAGE, re.MULTILINE)
    assert sorted(headings) == sorted(named - {"summary.csv"})
    assert "`summary.csv`" in TABLES_PAGE


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_a_package_a_page_and_a_place_in_the_index(stage):
    assert (LIBRARY / stage / "__init__.py").is_file()
    assert f"[{stage}]({stage}.md)" in (DOCS / "README.md").read_text(encoding="utf-8")
    assert (DOCS / f"{stage}.md").read_text(encoding="utf-8").startswith(f"# {stage.title()}\n")


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "figures"])
def test_the_page_of_a_stage_names_its_rules(stage):
    """The rules of figures are not named: they are made from the catalogue."""
    rules = (ROOT / f"workflow/rules/{stage}.smk").read_text(encoding="utf-8")
    page = (DOCS / f"{stage}.md").read_text(encoding="utf-8")
    assert [rule for rule in re.findall(r"^ *rule (\w+):", rules, re.MULTILINE) if f"`{rule}`" not in page] == []


def test_every_module_that_the_documentation_names_is_there():
    for page in PAGES:
        for name in re.findall(r"`((?:workflow/lib/homogenization/)?[a-z_]+/[a-z_]+\.py)`", page.read_text("utf-8")):
            module = LIBRARY / name.removeprefix("workflow/lib/homogenization/")
            assert module.is_file() or (ROOT / name).is_file(), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}, a heading that {file.name} lacks"


def anchors(page: Path) -> set[str]:
    """The headings of a page in the form in which a link names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(language: str, page: str = "extending.md") -> list[str]:
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run_example(module_name: str, monkeypatch, registry: str):
    """Run the example that docs/extending.md gives for a module, in the module's own names; its registry recovers."""
    (code,) = blocks(f"python {module_name}")
    module = import_module(f"homogenization.{module_name}")
    entries = getattr(module, registry)
    for name in set(re.findall(r"^def (\w+)", code, re.MULTILINE)) | set(re.findall(r'\["(\w+)"\]', code)):
        monkeypatch.delitem(entries, name, raising=False)
        monkeypatch.setitem(entries, name, None)
    exec(compile(code, "docs/extending.md", "exec"), dict(vars(module)))
    return module


def test_the_example_of_a_metric_works(monkeypatch):
    spectral = run_example("metrics.spectral", monkeypatch, "SPECTRAL_METRICS")
    batch = SpectrumBatch(np.array([[3.0, 3.0, 0.01, 0.0], [1.0, 0, 0, 0], [0.0, 0, 0, 0]]), np.array([4, 4, 4]))
    np.testing.assert_array_equal(spectral.evaluate("directions_for_99_percent", batch), [2, 1, np.nan])


def test_the_example_of_a_view_works(monkeypatch):
    run_example("measures.views", monkeypatch, "_LOOKS")
    tokens = np.random.default_rng(0).normal(size=(7, 5)) * [1, 10, 100, 1, 0] + 3
    spectra = singular_values(tokens, ["standardised", "standardised_without_first"])
    for name, kept in (("standardised", tokens), ("standardised_without_first", tokens[1:])):
        spread = kept[:, :4] - kept[:, :4].mean(axis=0)
        expected = np.linalg.svd(spread / spread.std(axis=0), compute_uv=False)
        np.testing.assert_allclose(spectra[name][:4], expected, rtol=1e-10)


def test_the_example_of_a_position_works(monkeypatch):
    run_example("variants.positions", monkeypatch, "POSITIONS")
    text = "Splendid acting saves this slow and rather long film."
    phrase = Phrase("splendid acting", 0, 0, 15)
    moved, placements = move_by_rules(unparsed(text), [phrase], "middle")
    assert sorted(words(moved)) == sorted(words(text))
    assert placements[0].original_position == 0
    assert placements[0].position == pytest.approx(3 / 7)


def test_the_example_of_a_scorer_works(monkeypatch):
    scorers = run_example("variants.scorers", monkeypatch, "SCORERS")
    frequencies = pl.DataFrame({"word": ["slow", "train", "bridge"], "document_frequency": [2, 2, 2]})
    scorer = scorers.make_scorer("frequency", frequencies, 10)
    text = "The slow train left. A slow train crossed the bridge."
    found = key_phrases(text, candidates(text, (1, 3)), scorer, 1)
    assert [(place.term, score) for place, score in found] == [("slow train", 2.0), ("slow train", 2.0)]


def test_the_example_of_a_cause_works(monkeypatch):
    added = run_example("statistics.causes", monkeypatch, "CAUSES").CAUSES["repeated_tokens"]
    tokens = np.random.default_rng(0).normal(size=(6, 4))
    repeated = added.distort(tokens, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(repeated, np.tile(tokens[0], (6, 1)))
    np.testing.assert_array_equal(added.distort(tokens, 0.0, np.random.default_rng(0)), tokens)


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(.*?)^```$", CLAIMS_PAGE, re.MULTILINE | re.DOTALL))
def test_the_examples_of_claims_are_valid(example, tmp_path):
    (tmp_path / "claims.yaml").write_text(example)
    assert load_claims(tmp_path / "claims.yaml")


def test_statistics_and_keys_of_claims_are_documented():
    for name in (*STATISTICS, *Claim.model_fields, *Contrast.model_fields, "with_metric", "largest"):
        assert f"`{name}`" in CLAIMS_PAGE, name


@pytest.mark.parametrize("example", [example for page in EXAMPLE_PAGES for example in blocks("yaml", page)])
def test_the_examples_of_configurations_are_valid(example, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for file in ("models/mine/config.json", "models/mine/model.safetensors", "data/my_reviews.csv"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    writers = {}
    for written in blocks("yaml", "writers.md"):
        writers |= yaml.safe_load(written)["writers"]
    raw = yaml.safe_load(example)
    if "variants" in raw:
        raw["variants"] = SMALL["variants"] | raw["variants"]
    load_study(SMALL | {"writers": writers} | raw)


def test_the_citation_names_the_version_of_the_project():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def edges_of(mermaid: str, names: dict[str, str]) -> set[tuple[str, str]]:
    """(rule, rule that reads what it makes), from the arrows of a Mermaid graph; `a --> b & c` is two."""
    found = set()
    for source, targets in re.findall(r"^\s*(\w+) --> (.+)$", mermaid, re.MULTILINE):
        found |= {(names.get(source, source), names.get(target, target)) for target in targets.split(" & ")}
    return found


def test_the_rule_graph_is_that_of_the_workflow(tmp_path):
    copy_workflow(tmp_path / "project")
    every_metric = {key: value for key, value in SMALL.items() if key != "metrics"}
    done = Project(tmp_path / "project", every_metric).run("--rulegraph", "mermaid-js")
    assert done.returncode == 0, done.stdout
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]$", done.stdout, re.MULTILINE))
    drawn = re.search(r"```mermaid\n(.*?)```", (DOCS / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    actual = {(source, target) for source, target in edges_of(done.stdout, names) if target != "all"}
    assert edges_of(drawn, {}) == actual
