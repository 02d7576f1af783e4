# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import curves_page_parameters, first_page_parameters, in_menu, shown_texts
from homogenization.config.texts import with_default_variants

PAGES = [
    "<results>/report/first_page.html",
    "<results>/report/curves.html",
    *expand("<results>/report/texts/{model}.html", model=STUDY.example_models),
]


rule make_report:
    """The report: figures, captions and provenance in one HTML file."""
    input:
        FIGURES,
        TABLES,
        PAGES,
        extraction="<results>/tables/extraction.parquet",
    output:
        # the last report stays where making the next one fails
        report=update("<results>/report.html"),
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("make_report", "reading"),
        # with what captions read, and paths as they are, not as the configuration spells them
        config=config
        | {
            "variants": with_default_variants(config.get("variants", {})),
            "results": RESULTS,
            "claims": STUDY.claims,
        },
        address=ADDRESS,
    script:
        "../scripts/make_report.py"


rule make_first_page:
    """The first page of the report: what was run, how alike tokens are over depth, and every claim with its verdict."""
    input:
        claims="<results>/tables/claims.csv" if STUDY.judged_claims else [],
        comparisons="<results>/tables/comparisons.csv",
        summary="<results>/tables/summary.parquet",
        acceptance="<results>/tables/acceptance.csv",
        extraction="<results>/tables/extraction.parquet",
        clean="<results>/corpus/clean.parquet",
    output:
        page=report(
            "<results>/report/first_page.html",
            caption="../report/first_page.rst",
            category="Answer",
            labels={"title": "What was run, and every claim with its verdict"},
        ),
    log:
        "<logs>/make_first_page.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        shown=first_page_parameters(STUDY),
        code=code("make_page", *DRAWN_BY, "report"),
        module="report.first_page",
    script:
        "../scripts/make_page.py"


rule make_curves:
    """A page of the contrasted metrics and of differences, of which a reader chooses."""
    input:
        summary="<results>/tables/summary.parquet",
        contrasts="<results>/tables/contrasts.parquet",
    output:
        page=report(
            "<results>/report/curves.html",
            caption="../report/curves.rst",
            category="Curves",
            labels={"title": "Contrasted metrics, to choose"},
        ),
    log:
        "<logs>/make_curves.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        shown=curves_page_parameters(STUDY),
        code=code("make_page", *DRAWN_BY, "report"),
        module="report.curves",
    script:
        "../scripts/make_page.py"


if STUDY.examples:

    rule make_text_page:
        """A page that shows a few texts token by token, the original beside each variant."""
        input:
            **{
                name: expand(
                    f"<results>/measures/{{{{model}}}}/{{variant}}/{{shard}}/{name}.parquet",
                    variant=STUDY.example_variants,
                    shard=STUDY.shards,
                )
                for name in ("texts", "tokens")
            },
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            sample=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
            keyphrases=expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards),
            variants=of_variants("variants", STUDY.example_variants),
        output:
            page=report(
                "<results>/report/texts/{model}.html",
                caption="../report/texts.rst",
                category="Texts",
                labels=lambda wildcards: {"model": in_menu(shown_texts(STUDY, wildcards.model)["model"])},
            ),
        log:
            "<logs>/texts/{model}.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            shown=lambda wildcards: shown_texts(STUDY, wildcards.model),
            code=code("make_page", *DRAWN_BY, "report"),
            module="report.text_page",
        script:
            "../scripts/make_page.py"
