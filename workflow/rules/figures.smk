# Tables -> figures, as SVG and PDF. Titles and labels are parameters of these rules alone.
DRAWN_BY = (*TABULATED_BY, "interventions.conditions", "statistics", "claims", "figures")


rule plot_curves:
    """Metrics, MAUVE and the first token, by depth."""
    input:
        summary="<results>/tables/summary.parquet",
        mauve="<results>/tables/mauve.parquet",
    output:
        drawn("metric", "mauve", "first_token"),
    log:
        "<logs>/figures/plot_curves.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        **shown("metric", "mauve", "first_token"),
        code=code("plot", *DRAWN_BY),
    script:
        "../scripts/plot.py"


if drawn("contrast", "extrema"):

    rule plot_contrasts:
        """Differences between variants, peaks and troughs over depth."""
        input:
            contrasts="<results>/tables/contrasts.parquet",
            summary="<results>/tables/summary.parquet",
            extrema="<results>/tables/extrema.parquet" if STUDY.finds_extrema else [],
        output:
            drawn("contrast", "extrema"),
        log:
            "<logs>/figures/plot_contrasts.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **shown("contrast", "extrema"),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if STUDY.states.record_attention:

    rule plot_attention:
        """Attention that tokens receive, by position and depth."""
        input:
            attention="<results>/tables/attention.parquet",
        output:
            drawn("attention_profile", "attention_heatmap"),
        log:
            "<logs>/figures/plot_attention.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **shown("attention_profile", "attention_heatmap"),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if STUDY.rewritten:

    rule plot_texts:
        """Similarity of the variants, places of their key phrases, balance of the controls."""
        input:
            similarity="<results>/tables/similarity.parquet",
            placement="<results>/tables/placement.parquet",
            balance="<results>/tables/balance.csv" if STUDY.balanced else [],
        output:
            drawn("similarity", "placement", "balance"),
        log:
            "<logs>/figures/plot_texts.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **shown("similarity", "placement", "balance"),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if STUDY.component_jobs:

    rule plot_components:
        """What each component of a block adds to anisotropy."""
        input:
            components="<results>/tables/components.parquet",
        output:
            drawn("components"),
        log:
            "<logs>/figures/plot_components.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **shown("components"),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


if drawn("dose_response", "conditions", "harm", "probes", "training"):

    rule plot_effects:
        """Changed attention, what homogenization costs, and training."""
        input:
            interventions="<results>/tables/interventions.parquet" if STUDY.intervention_jobs else [],
            intervened_layers="<results>/tables/intervened_layers.parquet" if STUDY.intervention_jobs else [],
            doses="<results>/tables/doses.csv" if STUDY.intervention_jobs else [],
            harm="<results>/tables/harm.csv" if STUDY.consequences else [],
            probes="<results>/tables/probes.parquet" if STUDY.consequences else [],
            training="<results>/tables/training.parquet" if STUDY.trained_models else [],
        output:
            drawn("dose_response", "conditions", "harm", "probes", "training"),
        log:
            "<logs>/figures/plot_effects.log",
        conda:
            "../../envs/analysis.yaml"
        params:
            **shown("dose_response", "conditions", "harm", "probes", "training"),
            code=code("plot", *DRAWN_BY),
        script:
            "../scripts/plot.py"


# without what the report says of them
FIGURES = [f"{file}" for file in drawn(*FIGURES_OF_STUDY)]
