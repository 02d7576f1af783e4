"""Every claim and its numbers as a table for a browser: to sort, search and filter; a row opens its details."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import itables
import polars as pl
from markupsafe import Markup

from homogenization.claims.findings import findings
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.claims.terms import CONVENTIONS
from homogenization.figures.style import VERDICTS
from homogenization.names.prose import grouped, interval
from homogenization.names.verdicts import NOT_TESTED
from homogenization.report.page import packed, render
from homogenization.run.parquet import read_input
from homogenization.tables.comparisons import COMPARISONS_SCHEMA

_OVER_DEPTH = "over depth"
_COLUMNS = ("Claim", "Source", "Layers", "Model", "Verdict", "Checks", "Of depth", "Estimate and interval", "n")
_FILTERED = (1, 2, 3, 4, 5)
_NUMBERS = {6: "share of depth", 7: "estimate"}  # columns of text that sort by a number


def make(inputs: Mapping[str, Any], **shown: Any) -> str:
    """The page from the files of the tables `claims` and `comparisons`."""
    schemas = {"claims": CLAIMS_SCHEMA, "comparisons": COMPARISONS_SCHEMA}
    tables = {name: read_input(inputs.get(name), schema) for name, schema in schemas.items()}
    return packed(claims_page(tables["claims"], tables["comparisons"], **shown))


def claims_page(
    claims: pl.DataFrame,
    comparisons: pl.DataFrame,
    *,
    models: Sequence[Sequence[str]],
    variants: Sequence[Sequence[str]],
    template: str,
    row_template: str,
) -> str:
    """The page as HTML, which asks for nothing outside of it.

    Claims that were tested are rows of the table; the others stand folded below it, by the reason.

    Args:
        claims: the table `claims`.
        comparisons: the table `comparisons`, which says what is out of balance.
        models: (name, label) of each model.
        variants: (name, label) of each variant.
        template: the template of the page.
        row_template: that of a claim's cell, which opens its details.
    """
    labels = {None: "all models", **dict(models)}
    imbalance = {row[:2]: row[2] for row in comparisons.select("variant", "minus", "imbalance").rows() if row[2]}
    for name, label in models:  # a covariate of a model has its name behind it
        imbalance = {pair: said.replace(f"({name})", f"({label})") for pair, said in imbalance.items()}
    # claim by claim, as they stand in the table, and in a claim by model
    claim, model = pl.Enum(claims["claim"].unique(maintain_order=True)), pl.Enum([name for name, _ in models])
    in_order = claims.sort(pl.col("claim").cast(claim), pl.col("model").cast(model), maintain_order=True)
    rows = in_order.filter(pl.col("verdict") != NOT_TESTED).to_dicts()
    details = [
        {"imbalance": imbalance.get((row["variant"], row["minus"])), "found": one}
        for row, one in zip(rows, findings(rows, {}), strict=True)
    ]
    named = {"variants": dict(variants), "conventions": CONVENTIONS}
    cells = [
        (
            render(row_template, row=row, **named, **detail),
            Markup.escape(row["source"]),
            row["layers"] or _OVER_DEPTH,
            Markup.escape(labels[row["model"]]),
            f"{VERDICTS[row['verdict']].sign} {row['verdict']}",
            "unbalanced" if detail["imbalance"] else "",
            re.sub(r" (?!more|less|higher|lower)", "\u00a0", detail["found"].of_depth),
            interval(row),
            row["n_reviews"],
            *(number if isfinite(number) else None for number in (detail["found"].oriented, row["estimate"])),
        )
        for row, detail in zip(rows, details, strict=True)
    ]
    hidden = [f"sorts by {name}" for name in _NUMBERS.values()]
    schema = dict.fromkeys((*_COLUMNS[:-1],), pl.String) | {_COLUMNS[-1]: pl.Int64} | dict.fromkeys(hidden, pl.Float64)
    return render(
        template,
        table=Markup(_as_html(pl.DataFrame(cells, schema=schema, orient="row"))),
        script=Markup(itables.javascript.generate_init_offline_itables_html(itables.options.dt_bundle)),
        n_tested=len(rows),
        not_tested=grouped(
            claims.filter(verdict=NOT_TESTED).iter_rows(named=True),
            lambda row: row["reason"] or "no result",
            lambda row: row["statement"],
            lambda row: labels[row["model"]],
        ),
    )


def _as_html(table: pl.DataFrame) -> str:
    """The table with its data, its filters and its language, as itables writes it for a page without a network."""
    n_columns = len(_COLUMNS)
    numbers = [{"targets": column, "orderData": n_columns + place} for place, column in enumerate(_NUMBERS)]
    hidden = {"targets": [n_columns + place for place in range(len(_NUMBERS))], "visible": False, "searchable": False}
    controls = [{"targets": column, "columnControl": _controls(column)} for column in range(n_columns)]
    page = itables.to_html_datatable(
        table,
        table_id="claims",
        connected=False,
        allow_html=True,
        show_dtypes=False,
        showIndex=False,
        display_logo_when_loading=False,
        maxBytes=0,
        classes="display compact",
        style="width:100%",
        paging=False,
        layout={"topStart": "info", "topEnd": "search", "bottomStart": None, "bottomEnd": None},
        language={
            "search": "Search all columns:",
            "info": "_TOTAL_ of _MAX_ rows",
            "infoFiltered": "",
            "infoEmpty": "0 of _MAX_ rows",
        },
        ordering={"indicators": False, "handler": False},
        autoWidth=False,
        columnDefs=[*numbers, hidden, *controls],
    )
    # a second copy of all rows, for notebooks that run no script
    return re.sub('<div id="claims_fallback">.*?</div>', "", page, flags=re.DOTALL)


def _controls(column: int) -> list[Any]:
    """What stands beside the heading of a column: a button that sorts, or opens what sorts and filters."""
    name = _COLUMNS[column]
    if column not in _FILTERED:
        return [{"extend": "order", "text": f"Sort by {name}"}]
    within = [
        {"extend": "orderAsc", "text": f"Sort {name} from A to Z"},
        {"extend": "orderDesc", "text": f"Sort {name} from Z to A"},
        {"extend": "searchList", "ariaLabel": f"Filter {name}", "search": False},
    ]
    return [{"extend": "dropdown", "text": f"Sort and filter {name}", "icon": "search", "content": within}]
