# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.
from homogenization.config.presentation import shown_texts

TEXTS = expand("<results>/report/texts/{model}.html", model=STUDY.example_models)


rule make_report:
    """The report: figures, captions and provenance in one HTML file."""
    input:
        FIGURES,
        made_in("tables", reported=True),
        TEXTS,
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


if STUDY.examples:
    TEXTS_TEMPLATE = Path(workflow.source_path("../report/pages/texts.jinja")).read_text("utf-8")

    rule read_examples:
        """Runs a model over a few reviews in every variant, and says what each token is like at every layer."""
        input:
            corpus=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
            keyphrases=expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards),
            variants=over_variants("<results>/variants/{variant}/{shard}.parquet", STUDY.example_variants),
            weights=weights_of,
            # which reviews are shown follows from results, unless the configuration names them
            metrics=[] if STUDY.examples.reviews else "<results>/tables/metrics.parquet",
            similarity=[] if STUDY.examples.reviews else "<results>/tables/similarity.parquet",
        output:
            # the same texts are not read again
            texts=update("<results>/examples/{model}.texts.parquet"),
            tokens=update("<results>/examples/{model}.tokens.parquet"),
        log:
            "<logs>/examples/{model}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
        resources:
            mem_mb=lambda wildcards, attempt: ask.extraction_memory(model_of(wildcards), attempt),
            runtime=lambda wildcards, attempt: ask.extraction_runtime(
                model_of(wildcards), len(STUDY.examples.reviews or range(3)) * len(STUDY.example_variants), attempt
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            code=code("read_examples"),
            model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
            variants=sorted(STUDY.example_variants),
            reviews=STUDY.examples.reviews,
            choice=None if STUDY.examples.reviews else STUDY.example_choice,
            sizes=STUDY.examples.params("tokens", "matrix_tokens", "matrix_layers"),
            storage=STUDY.states.params("dtype", "chunk_tokens", "layers", "record_attention"),
        script:
            "../scripts/read_examples.py"

    rule write_texts:
        """A page that shows a few texts token by token, the original beside each variant."""
        input:
            texts="<results>/examples/{model}.texts.parquet",
            tokens="<results>/examples/{model}.tokens.parquet",
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
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
            code=code("write_texts"),
            template=lambda wildcards: TEXTS_TEMPLATE,
            shown=lambda wildcards: shown_texts(STUDY, wildcards.model),
        script:
            "../scripts/write_texts.py"
