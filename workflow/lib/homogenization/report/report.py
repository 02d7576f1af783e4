"""The report: one page that answers what was asked, shows texts and curves, and names all claims and figures.

It is one HTML file: its figures, scripts and numbers stand in it, and it asks for nothing outside.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.figures.style import VERDICTS
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import NOT_TESTED
from homogenization.report import verdicts
from homogenization.report.curves import curves
from homogenization.report.examples import chosen_reviews
from homogenization.report.page import grouped, render
from homogenization.report.texts import one_sentence, text_data
from homogenization.run.files import read_json
from homogenization.run.log import announce
from homogenization.run.parquet import read_input, read_table, read_tables
from homogenization.tables.balance import BALANCE_SCHEMA
from homogenization.tables.pooled import POOLED_VIEW
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA

FEW_REVIEWS, LOW_ACCEPTANCE = 60, 0.8  # below these, the page says so
SHOWN_TOKENS = 256  # of a text, the first ones
_LONGEST_TABLE = 60  # rows of a table that stands on the page
_PHRASES = {"review_id": pl.String, "phrase": pl.String}
_SCHEMAS = {"acceptance": ACCEPTANCE_SCHEMA, "balance": BALANCE_SCHEMA, "claims": CLAIMS_SCHEMA}


def report_page(inputs: Mapping[str, Any], shown: Mapping[str, Any], origin: Mapping[str, Any]) -> str:
    """The page as HTML.

    Args:
        inputs: files of the rule by name: the tables `claims`, `contrasts`, `summary`, `metrics`, `similarity`,
            `acceptance` and `balance`; lists of files of `sample`, `variants` and `keyphrases`, `runs`, the records of
            extractions, and of `texts` and `tokens` as models read them; `figures` and `csv`, the files that are shown.
            What a study does not make is empty.
        shown: what the configuration says (`config.presentation.report_parameters`).
        origin: where the study comes from (`reading.citation.provenance`).
    """
    tables = {name: read_input(inputs[name], schema) for name, schema in _SCHEMAS.items()}
    tables |= {name: read_table(inputs[name]) for name in ("contrasts", "summary", "similarity")}
    tables |= {name: read_tables(inputs[name]) for name in ("sample", "variants")}
    tables["keyphrases"] = read_tables(files) if (files := inputs["keyphrases"]) else pl.DataFrame(schema=_PHRASES)
    labels, examples = {name: shown[name] for name in ("models", "variants")}, shown["examples"]
    imbalance = out_of_balance(tables["balance"])
    claims = verdicts.numbered(tables["claims"], dict(labels["models"]), imbalance)
    main = verdicts.main_claims(claims)
    n_both, otherwise = verdicts.with_both_views(claims)
    counts = {row["n_reviews"] for _, row, _ in verdicts.cells(main) if row["n_reviews"]}
    texts = texts_by_review(tables["variants"])
    phrases = dict(tables["keyphrases"].group_by("review_id", maintain_order=True).agg("phrase").rows())
    drawn = filter(None, map(figure_of, count(), inputs["figures"], shown["figures"]))
    figures = grouped(drawn, lambda figure: figure["section"])
    return render(
        "report.jinja",
        **labels,
        **{name: shown[name] for name in ("by", "margin", "sources", "weights", "corpus")},
        claims=claims,
        main=main,
        untested=verdicts.untested(claims),
        marks=verdicts.footnotes(main),
        of_groups=partial(verdicts.of_groups, contrasts=tables["contrasts"]),
        columns=list(dict.fromkeys(row["label"] for _, row, _ in verdicts.cells(claims))),
        n_both=n_both,
        n_texts=counts.pop() if len(counts) == 1 else None,  # said once where all are alike
        otherwise=otherwise,
        sentence=one_sentence(texts, phrases, [name for name, _ in shown["variants"]]),
        doubts=doubts(tables, shown, imbalance, left_out(inputs["runs"])),
        origin=origin,
        looks=VERDICTS,
        first=figures.pop("Answer", []),
        figures=figures,
        csv=list(map(table_of, inputs["csv"], shown["csv"])),
        texts=text_data(*chosen_texts(inputs, tables, examples), texts, phrases),
        charts=curves(tables["summary"], tables["contrasts"], **shown["curves"], **labels),
    )


def texts_by_review(variants: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The text of each review in each variant."""
    texts: dict[str, dict[str, str]] = {}
    for review_id, variant, text in variants.select("review_id", "variant", "text").iter_rows():
        texts.setdefault(review_id, {})[variant] = text
    return texts


def chosen_texts(
    inputs: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], examples: Mapping[str, Any]
) -> tuple[dict[str, pl.DataFrame], list[tuple[str, str]]]:
    """The tables `texts` and `tokens` of the reviews that are shown, and these: (review_id, which it is)."""
    metrics = pl.scan_parquet(inputs["metrics"]).filter(model=examples["model"], point=RESIDUAL_STREAM).collect()
    known = tables["sample"]["review_id"].to_list()
    chosen = chosen_reviews(metrics, tables["similarity"], known, **examples["choice"])
    of_reviews = pl.DataFrame({"review_id": [name for name, _ in chosen]}, {"review_id": pl.String})
    read = {
        name: pl.concat(read_table(file).join(of_reviews, on="review_id", how="semi") for file in inputs[name])
        for name in ("texts", "tokens")
    }
    measures = pl.col("cosine_to_mean", "norm", "attention").list.head(SHOWN_TOKENS)
    return read | {"tokens": read["tokens"].with_columns(measures)}, chosen


def doubts(
    tables: Mapping[str, pl.DataFrame], shown: Mapping[str, Any], imbalance: Mapping[str, str], too_long: dict[str, int]
) -> dict[str, Any]:
    """What to distrust, by name; empty where it does not apply."""
    models, variants = dict(shown["models"]), dict(shown["variants"])
    of_reviews = pl.col("view").ne_missing(POOLED_VIEW)  # others are of pools
    tested = tables["claims"].filter(pl.col("verdict") != NOT_TESTED, of_reviews)
    fewest = tested["n_reviews"].min()
    accepted = tables["acceptance"].filter(pl.col("acceptance_rate") < LOW_ACCEPTANCE)
    whole = tables["contrasts"].filter(pl.col("group").is_null())
    refused = whole.filter(pl.col("verdict") == NOT_TESTED, pl.col("reason").is_not_null())
    reasons = refused.select("variant", "minus", "reason").unique(maintain_order=True).rows()
    return {
        "few": fewest if fewest is not None and fewest < FEW_REVIEWS else 0,
        "quantised": [models[name] for name, weights in shown["weights"].items() if "gguf" in weights],
        "left_out": [(models[name], count) for name, count in too_long.items()],
        "accepted": accepted.select("variant", "n_accepted", "n_reviews").rows(),
        "imbalance": imbalance,
        "uncontrolled": [variants[name] for name in shown["uncontrolled"]],
        "refused": grouped(reasons, lambda row: row[2]),
    }


def left_out(runs: Sequence[str]) -> dict[str, int]:
    """By model, how many texts its extractions left out, by their records, as too long; they are announced."""
    found: dict[str, int] = {}
    for model, records in grouped(map(read_json, runs), itemgetter("model")).items():
        if n_left_out := sum(record["n_left_out"] for record in records):
            n_texts = n_left_out + sum(record["n_reviews"] for record in records)
            announce(
                f"models.{model}: of {n_texts} texts of all variants, {n_left_out} are left out, since they or their "
                f"originals have more than {records[0]['max_tokens']} tokens"
            )
            found[model] = n_left_out
    return found


def out_of_balance(balance: pl.DataFrame) -> dict[str, str]:
    """By `front − front-inward`: the covariates in which the second is out of balance as a control of the first."""
    rows = balance.filter(~pl.col("balanced")).select("variant", "control", "covariate").unique(maintain_order=True)
    of_pairs = grouped(rows.rows(), lambda row: f"{row[0]} − {row[1]}")
    return {pair: ", ".join(covariate.replace("_", " ") for *_, covariate in of) for pair, of in of_pairs.items()}


def figure_of(number: int, file: str, entry: Mapping[str, str]) -> dict[str, Any] | None:
    """A figure with its title, section and caption; the ids in it are made its own, and paths are of .01 pt.

    None where no model of the study has what it shows, as attention of an architecture whose attention is not measured.
    """
    svg = Path(file).read_text("utf-8")
    if re.search(r"<dc:description>\s*n = 0 \w+", svg):
        return None
    drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>f{number}-", drawn)
    drawn = re.sub(r"(?<!scale\(0)(\.\d\d)\d{2,}", r"\1", drawn)  # but the size of letters
    label = Markup('<svg role="img" aria-label="{}"').format(entry["title"])
    svg = Markup(re.sub(r"\s+", " ", drawn).replace("<svg", label, 1))
    return {**entry, "svg": svg, "caption": in_html(entry["caption"])}


def table_of(file: str, entry: Mapping[str, str]) -> dict[str, Any]:
    """A CSV table with its title and caption, and its rows where they are few."""
    table = pl.read_csv(file, infer_schema=False)
    rows = table.rows() if len(table) <= _LONGEST_TABLE else []
    return {**entry, "file": file, "columns": table.columns, "rows": rows, "caption": in_html(entry["caption"])}


def in_html(caption: str) -> Markup:
    """A caption as HTML: of reStructuredText, paragraphs, *emphasis* and ``code``."""
    marked = re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(caption.strip())))
    marked = re.sub(r"\*(.+?)\*", r"<em>\1</em>", marked)
    return Markup("".join(f"<p>{paragraph}</p>" for paragraph in re.split(r"\n\s*\n", marked)))
