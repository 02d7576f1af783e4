# Tables, figures and the tokens of a few texts -> the report: one page in one HTML file.
from homogenization.config.presentation import report_parameters
from homogenization.figures.catalogue import page_figures

SHOWN_FIGURES = [
    {"name": figure.name, "title": figure.title, "section": figure.section, "caption": in_words(figure.caption)}
    for figure in page_figures(STUDY)
]
SHOWN_CSV = [table | {"caption": in_words(table["caption"])} for table in SHOWN_TABLES if table["file"] in TABLES]


rule make_report:
    """The report: what was found, texts token by token, curves, every claim and figure, in one HTML file."""
    input:
        claims="<results>/tables/claims.csv" if STUDY.judged_claims else [],
        contrasts="<results>/tables/contrasts.parquet",
        summary="<results>/tables/summary.parquet",
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        acceptance="<results>/tables/acceptance.csv",
        balance="<results>/tables/balance.csv" if STUDY.balanced else [],
        runs=of_jobs("states", STUDY.jobs, ".json"),
        sample=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
        keyphrases=PHRASES,
        variants=of_variants("variants", STUDY.variants),
        texts=of_jobs("measures", STUDY.jobs, name="texts"),
        tokens=of_jobs("measures", STUDY.jobs, name="tokens"),
        figures=[f"<results>/figures/{figure['name']}.svg" for figure in SHOWN_FIGURES],
        csv=[table["file"] for table in SHOWN_CSV],
    output:
        # the last report stays where making the next one fails
        report=update("<results>/report.html"),
        configuration="<results>/configuration.yaml",
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        **report_parameters(STUDY),
        figures=SHOWN_FIGURES,
        csv=SHOWN_CSV,
        # with paths as they are, not as the configuration spells them
        config=config | {"results": RESULTS, "claims": STUDY.claims},
        code=code("make_report", *DRAWN_BY, "report", "reading"),
    script:
        "../scripts/make_report.py"
