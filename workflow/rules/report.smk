# Tables, figures and the tokens of a few texts -> the report: one page in one HTML file.
from homogenization.config.presentation import report_parameters
from homogenization.figures.catalogue import page_figures

SHOWN_FIGURES = [
    {"name": figure.name, "title": figure.title, "section": figure.section, "caption": in_words(figure.caption)}
    for figure in page_figures(STUDY)
]
SHOWN_CSV = [
    {"file": file, "title": SHOWN[name][1], "caption": in_words(f"{name}.rst")}
    for name, file in tables(*SHOWN).items()
    if file
]


rule make_report:
    """The report: what was found, texts token by token, curves, every claim and figure, in one HTML file."""
    input:
        **tables("claims", "contrasts", "summary", "metrics", "similarity", "acceptance", "balance"),
        runs=of_jobs("states", STUDY.jobs, ".json"),
        sample=SAMPLE,
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
        origin="<results>/origin.json",
    log:
        "<logs>/make_report.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        **report_parameters(STUDY),
        figures=SHOWN_FIGURES,
        csv=SHOWN_CSV,
        table_names=[Path(table).stem for table in TABLES],
        config=config | {"results": STUDY.results, "claims": STUDY.claims},
        code=code("make_report", *DRAWN_BY, "report", "reading"),
    script:
        "../scripts/make_report.py"
