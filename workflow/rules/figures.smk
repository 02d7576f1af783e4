# Tables -> figures, as SVG; for a paper, as PDF too. Labels are parameters of these rules alone.
# workflow/lib/homogenization/figures/catalogue.py says which figures a study has.
from homogenization.config.presentation import shown_of

DRAWN_BY = (*ESTIMATED_BY, "interventions.conditions", "claims", "figures")
OF_STATES = ["one_token", "metric", "first_token", "extrema", "mauve", "attention_heatmap", "components"]
OF_CONTRASTS = ["disorder", "disorder_depth", "contrast", "similarity", "placement", "balance"]
OF_CONTRASTS += ["dose", "conditions", "probes", "training"]


rule plot_states:
    """Draws states and attention; or differences between variants, texts, effects and costs."""
    input:
        **tables("summary", "mauve", "extrema", "attention", "components"),
    output:
        drawn(OF_STATES),
    log:
        "<logs>/figures/plot_states.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("plot", *DRAWN_BY),
        style=STUDY.figures.style,
        shown=shown_of(STUDY),
        figures=drawing_functions(OF_STATES),
    script:
        "../scripts/plot.py"


use rule plot_states as plot_contrasts with:
    input:
        **tables("contrasts", "similarity", "balance", "interventions", "doses", "consequences", "probes", "training"),
    output:
        drawn(OF_CONTRASTS),
    log:
        "<logs>/figures/plot_contrasts.log",
    params:
        figures=drawing_functions(OF_CONTRASTS),


# without what the report says of them
FIGURES = [*map(str, rules.plot_states.output + rules.plot_contrasts.output)]
