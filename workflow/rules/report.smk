# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import (
    claims_page_parameters,
    curves_page_parameters,
    first_page_parameters,
    shown_texts,
)
from homogenization.config.texts import with_default_variants

PAGES = [
    "<results>/report/first_page.html",
    *(["<results>/report/claims.html"] if STUDY.judged_claims else []),
    "<results>/report/curves.html",
    *expand("<results>/report/texts/{model}.html", model=STUDY.example_models),
]


rule make_report:
    """The report: figures, captions and provenance in one HTML file."""
    input:
        FIGURES,
        made_in("tables", reported=True),
        PAGES,
        extraction="<results>/tables/extraction.parquet",
    output:
        report="<results>/report.html",
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/homogenization.yaml"
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
        style=template("style.css"),
        names=template("names.js"),
    script:
        "../scripts/make_report.py"


rule make_first_page:
    """The first page of the report: questions and models in a grid, a curve, how many texts, and what to beware of."""
    input:
        **files_of(("claims", "contrasts", "comparisons", "depth", "summary", "acceptance", "long_texts"), TABLES),
        clean="<results>/corpus/clean.parquet",
    output:
        page="<results>/report/first_page.html",
    log:
        "<logs>/make_first_page.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        **first_page_parameters(STUDY),
        template=template("pages/first_page.jinja"),
        words=template("answers/models.jinja"),
        code=code("make_page", *DRAWN_BY, "report"),
        module="report.first_page",
    script:
        "../scripts/make_page.py"


rule make_claims_table:
    """Every claim and its numbers, to sort, search and filter in a browser."""
    input:
        **files_of(("claims", "comparisons"), TABLES),
    output:
        page=report(
            "<results>/report/claims.html",
            caption="../report/claims_table.rst",
            category="Claims",
            labels={"title": "Every claim, to sort and filter"},
        ),
    log:
        "<logs>/make_claims_table.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        **claims_page_parameters(STUDY),
        template=template("pages/claims_table.jinja"),
        row_template=template("pages/claim.jinja"),
        code=code("make_page", *DRAWN_BY, "report"),
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
            labels={"title": "Every metric, to choose"},
        ),
    log:
        "<logs>/make_curves.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        # Snakemake takes braces in a text for wildcards
        **{name: lambda wildcards, value=value: value for name, value in curves_page_parameters(STUDY).items()},
        template=template("pages/curves.jinja"),
        code=code("make_page", *DRAWN_BY, "report"),
        module="report.curves",
    script:
        "../scripts/make_page.py"


if STUDY.examples:

    rule read_examples:
        """Runs a model over a few reviews in every variant, and says what each token is like at every layer."""
        input:
            corpus=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
            keyphrases=expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards),
            variants=over_variants("variants", STUDY.example_variants, STUDY),
            weights=weights_of,
            # which reviews are shown follows from results, unless the configuration names them
            metrics=[] if STUDY.examples.reviews else "<results>/tables/metrics.parquet",
            similarity=[] if STUDY.examples.reviews else "<results>/tables/similarity.parquet",
        output:
            texts="<results>/examples/{model}.texts.parquet",
            tokens="<results>/examples/{model}.tokens.parquet",
        log:
            "<logs>/examples/{model}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
        resources:
            mem_mb=EXTRACTION["mem_mb"],
            runtime=per_attempt(
                lambda wildcards: ask.extraction_runtime(
                    model_of(wildcards), len(STUDY.examples.reviews or range(3)) * len(STUDY.example_variants)
                )
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            code=code("read_examples", *MEASURED_BY, "tables", "report"),
            model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
            variants=sorted(STUDY.example_variants),
            reviews=STUDY.examples.reviews,
            choice=None if STUDY.examples.reviews else STUDY.example_choice,
            sizes=STUDY.examples.params("tokens", "matrix_tokens", "matrix_layers"),
            storage=STUDY.states.params("dtype", "layers", "record_attention"),
        script:
            "../scripts/read_examples.py"

    rule make_text_page:
        """A page that shows a few texts token by token, the original beside each variant."""
        input:
            texts="<results>/examples/{model}.texts.parquet",
            tokens="<results>/examples/{model}.tokens.parquet",
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            columns="<results>/corpus/columns.parquet",
        output:
            page=report(
                "<results>/report/texts/{model}.html",
                caption="../report/texts.rst",
                category="Texts",
                labels=lambda wildcards: {"model": shown_texts(STUDY, wildcards.model)["model"]},
            ),
        log:
            "<logs>/texts/{model}.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            shown=lambda wildcards: shown_texts(STUDY, wildcards.model),
            template=template("pages/texts.jinja"),
            code=code("make_page", *DRAWN_BY, "report"),
            module="report.text_page",
        script:
            "../scripts/make_page.py"
