# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import curves_page_parameters
from homogenization.config.texts import DEFAULT_VARIANTS

PAGES = ["<results>/report/curves.html"]
CURVES = {
    **curves_page_parameters(STUDY),
    "template": Path(workflow.source_path("../report/pages/curves.jinja")).read_text("utf-8"),
}


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
        **{name: lambda wildcards, value=value: value for name, value in CURVES.items()},
        code=code("make_page", "report.curves"),
        module="report.curves",
    script:
        "../scripts/make_page.py"
