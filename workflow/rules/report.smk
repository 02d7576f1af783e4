# Tables, figures and the tokens of a few texts -> the report: one page in one HTML file.
from homogenization.config.presentation import in_report, report_parameters


def captioned(shown):
    """What the report shows of a file, with the text of its caption."""
    return shown | {"caption": Path(workflow.source_path(f"../report/{shown['caption']}.rst")).read_text("utf-8")}


# by file
SHOWN_FIGURES = {f"<results>/figures/{file}": captioned(shown) for file, shown in in_report(STUDY).items()}
CSV_TABLES = {file: captioned(shown) for file, shown in SHOWN_TABLES.items() if file in TABLES}


rule make_report:
    """The report: what was found, texts token by token, curves, every claim and figure, in one HTML file."""
    input:
        FIGURES,
        TABLES,
        claims="<results>/tables/claims.csv" if STUDY.judged_claims else [],
        contrasts="<results>/tables/contrasts.parquet",
        summary="<results>/tables/summary.parquet",
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        acceptance="<results>/tables/acceptance.csv",
        balance="<results>/tables/balance.csv" if STUDY.balanced else [],
        extraction="<results>/tables/extraction.parquet",
        sample=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
        keyphrases=expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards),
        variants=of_variants("variants", STUDY.variants),
        texts=of_jobs("measures", STUDY.example_jobs, name="texts"),
        tokens=of_jobs("measures", STUDY.example_jobs, name="tokens"),
        figures=list(SHOWN_FIGURES),
        csv=list(CSV_TABLES),
    output:
        # the last report stays where making the next one fails
        report=update("<results>/report.html"),
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        **report_parameters(STUDY),
        figures=list(SHOWN_FIGURES.values()),
        csv=list(CSV_TABLES.values()),
        # with paths as they are, not as the configuration spells them
        config=config | {"results": RESULTS, "claims": STUDY.claims},
        code=code("make_report", *DRAWN_BY, "report", "reading"),
    script:
        "../scripts/make_report.py"
