"""The documentation names every table and its columns, in their order."""

import re

import polars as pl
import pytest

from conftest import ROOT
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.consequences.schemas import (
    HARM_SCHEMA,
    POOLED_READINGS_SCHEMA,
    POOLED_STATES_SCHEMA,
    TEXTS_SCHEMA,
)
from homogenization.interventions.schemas import DELIVERED_SCHEMA, DOSES_SCHEMA, INTERVENED_SCHEMA, SLOPES_SCHEMA
from homogenization.measures.attention import ATTENTION_SCHEMA
from homogenization.measures.components import COMPONENT_STATES_SCHEMA
from homogenization.measures.geometry import GEOMETRY_SCHEMA
from homogenization.measures.mauve import MAUVE_SCHEMA
from homogenization.measures.positional import POSITIONAL_SUMS_SCHEMA
from homogenization.measures.sinks import SINKS_SCHEMA
from homogenization.measures.spectra import SPECTRA_SCHEMA
from homogenization.plan.costs import PLAN_SCHEMA
from homogenization.plan.durations import DURATIONS_SCHEMA
from homogenization.statistics.blocks import BLOCKS_SCHEMA
from homogenization.statistics.causes import RESPONSE_SCHEMA
from homogenization.statistics.causes_in_words import CAUSES_SCHEMA
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
from homogenization.statistics.predictions_in_words import PREDICTIONS_SCHEMA
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
from homogenization.variants.schemas import FLUENCY_SCHEMA, KEYPHRASE_SCHEMA, SCORE_SCHEMA
from pages import DOCS, rows_of

TABLES_PAGE = (DOCS / "tables.md").read_text(encoding="utf-8")
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


def documented_columns(heading: str) -> dict[str, str]:
    """Column -> type of the first table under a heading of docs/tables.md."""
    section = re.split(r"^#+ ", TABLES_PAGE.split(f"### `{heading}`\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return {row[0].strip("` "): row[1] for row in rows_of(section)[2:]}


def as_text(schema) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in schema.items()}


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
