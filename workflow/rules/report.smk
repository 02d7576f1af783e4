# Tables, figures and texts -> pages for a browser, and all of them in one HTML file.


rule make_report:
    """The report: figures, captions and provenance in one HTML file."""
    input:
        FIGURES,
        made_in("tables", reported=True),
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
