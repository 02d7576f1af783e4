# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import (
    claims_page_parameters,
    curves_page_parameters,
    first_page_parameters,
)
from homogenization.config.texts import DEFAULT_VARIANTS

PAGES = [
    "<results>/report/first_page.html",
    *(["<results>/report/claims.html"] if STUDY.judged_claims else []),
    "<results>/report/curves.html",
]


rule make_report:
    """The report: figures, captions and provenance in one HTML file."""
    input:
        FIGURES,
        made_in("tables", reported=True),
        PAGES,
    output:
        report="<results>/report.html",
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("make_report"),
        # with what captions read, and paths as they are, not as the configuration spells them
        config=config
        | {
            "variants": config.get("variants", DEFAULT_VARIANTS),
            "results": RESULTS,
            "claims": STUDY.claims,
        },
        address=ADDRESS,
    script:
        "../scripts/make_report.py"


rule make_first_page:
    """The first page of the report: questions and models in a grid, a curve, how many texts, and what to beware of."""
    input:
        **tables_of("claims", "contrasts", "comparisons", "depth", "summary", "acceptance", "long_texts"),
    output:
        page="<results>/report/first_page.html",
    log:
        "<logs>/make_first_page.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        **first_page_parameters(STUDY),
        template=page_template("first_page"),
        code=code("make_page", "report.first_page"),
        module="report.first_page",
    script:
        "../scripts/make_page.py"


rule make_claims_table:
    """Every claim and its numbers, to sort, search and filter in a browser."""
    input:
        **tables_of("claims", "comparisons"),
    output:
        page=report(
            "<results>/report/claims.html",
            caption="../report/claims_table.rst",
            category="Claims",
            labels={"claims": "every claim, to sort and filter"},
        ),
    log:
        "<logs>/make_claims_table.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        **claims_page_parameters(STUDY),
        template=page_template("claims_table"),
        row_template=page_template("claim"),
        code=code("make_page", "report.claims_table"),
        module="report.claims_table",
    script:
        "../scripts/make_page.py"


rule make_curves:
    """A page on which every metric, view, model, variant and difference can be chosen."""
    input:
        summary="<results>/tables/summary.parquet",
        contrasts="<results>/tables/contrasts.parquet",
    output:
        page=report(
            "<results>/report/curves.html",
            caption="../report/curves.rst",
            category="Curves",
            labels={"curves": "every metric, to choose"},
        ),
    log:
        "<logs>/make_curves.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        # Snakemake takes braces in a text for wildcards
        **{
            name: lambda wildcards, value=value: value for name, value in curves_page_parameters(STUDY).items()
        },
        template=page_template("curves"),
        code=code("make_page", "report.curves"),
        module="report.curves",
    script:
        "../scripts/make_page.py"
