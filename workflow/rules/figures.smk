# Tables -> figures, as SVG and PDF. Labels are parameters of these rules alone; workflow/lib/homogenization/figures
# /catalogue.py says which figures a study has.
from homogenization.config.figures import shown_of

DRAWN_BY = (*TABULATED_BY, "interventions.conditions", "statistics", "claims", "figures")
SHOWN = {"shown": shown_of(STUDY), "style": STUDY.figures.style}
OF_STATES = ["one_token", "metric", "first_token", "extrema", "mauve", "attention_heatmap", "attention_profile"]
OF_STATES += ["components"]
OF_CONTRASTS = ["disorder", "disorder_depth", "contrast", "parts"]
OF_TEXTS = ["similarity", "placement", "balance"]
OF_EFFECTS = ["dose", "conditions", "probes", "training"]


rule plot_states:
    """What is measured of states and attention, by depth and position."""
    input:
        summary="<results>/tables/summary.parquet",
        mauve="<results>/tables/mauve.parquet",
        extrema="<results>/tables/extrema.parquet" if STUDY.contrasted_metrics else [],
        attention="<results>/tables/attention.parquet",
        components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
    output:
        drawn(OF_STATES),
    log:
        "<logs>/figures/plot_states.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        **SHOWN,
        figures=drawing_functions(OF_STATES),
        code=code("plot", *DRAWN_BY),
    script:
        "../scripts/plot.py"


if drawn(OF_CONTRASTS):

    rule plot_contrasts:
        """Differences between variants: against disorder, over depth, in its parts."""
        input:
            contrasts="<results>/tables/contrasts.parquet",
        output:
            drawn(OF_CONTRASTS),
        log:
            "<logs>/figures/plot_contrasts.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **SHOWN,
            figures=drawing_functions(OF_CONTRASTS),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if STUDY.rewritten:

    rule plot_texts:
        """Similarity of the variants, places of their key phrases, balance of the controls."""
        input:
            similarity="<results>/tables/similarity.parquet",
            balance="<results>/tables/balance.csv" if STUDY.balanced else [],
        output:
            drawn(OF_TEXTS),
        log:
            "<logs>/figures/plot_texts.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **SHOWN,
            figures=drawing_functions(OF_TEXTS),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if drawn(OF_EFFECTS):

    rule plot_effects:
        """Changed attention, what homogenization costs, and training."""
        input:
            interventions="<results>/tables/interventions.parquet" if STUDY.intervention_jobs else [],
            doses="<results>/tables/doses.csv" if STUDY.intervention_jobs else [],
            consequences="<results>/tables/consequences.parquet" if STUDY.consequences else [],
            probes="<results>/tables/probes.parquet" if STUDY.consequences else [],
            training="<results>/tables/training.parquet" if STUDY.trained_models else [],
        output:
            drawn(OF_EFFECTS),
        log:
            "<logs>/figures/plot_effects.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **SHOWN,
            figures=drawing_functions(OF_EFFECTS),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


# without what the report says of them
FIGURES = [f"{file}" for file in drawn([])]
