# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import curves_page_parameters

PAGES = ["<results>/report/curves.html"]


def page_template(name):
    """A template of workflow/report/pages: an edit of it makes its page again, and no other."""
    text = Path(workflow.source_path(f"../report/pages/{name}.jinja")).read_text("utf-8")
    return lambda wildcards: text  # Snakemake takes braces in a text for wildcards


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
        # paths as they are, not as the configuration spells them
        config=config | {"results": RESULTS, "claims": STUDY.claims},
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
        **{name: lambda wildcards, value=value: value for name, value in curves_page_parameters(STUDY).items()},
        template=page_template("curves"),
        code=code("make_page", "report.curves"),
        module="report.curves",
    script:
        "../scripts/make_page.py"
