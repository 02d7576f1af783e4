# Tables -> figures -> report. Titles, labels and colours are parameters of these rules alone.


rule plot_metric:
    input:
        summary="<results>/tables/summary.parquet",
    output:
        svg=report(
            "<results>/figures/metrics/{metric}.svg",
            caption="../report/metric.rst",
            category="Metrics",
            labels={"metric": "{metric}"},
        ),
        png="<results>/figures/metrics/{metric}.png",
    log:
        "<logs>/figures/metrics/{metric}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_metric"),
        metric=lambda wildcards: wildcards.metric,
        title=lambda wildcards: STUDY.title(wildcards.metric),
        label=lambda wildcards: STUDY.axis_label(wildcards.metric),
        views=STUDY.figures.views,
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_metric.py"


rule plot_mauve:
    input:
        mauve="<results>/tables/mauve.parquet",
    output:
        svg=report(
            "<results>/figures/mauve.svg",
            caption="../report/mauve.rst",
            category="Metrics",
            labels={"metric": "MAUVE of consecutive layers"},
        ),
        png="<results>/figures/mauve.png",
    log:
        "<logs>/figures/mauve.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_mauve"),
        title=STUDY.title("mauve"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_mauve.py"


rule plot_attention_profile:
    input:
        attention="<results>/tables/attention.parquet",
    output:
        svg=report(
            "<results>/figures/attention_profile.svg",
            caption="../report/attention_profile.rst",
            category="Position and attention",
            labels={"figure": "attention by position"},
        ),
        png="<results>/figures/attention_profile.png",
    log:
        "<logs>/figures/attention_profile.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_attention_profile"),
        title=STUDY.title("attention_profile"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_attention_profile.py"


rule plot_attention_heatmap:
    input:
        attention="<results>/tables/attention.parquet",
    output:
        svg=report(
            "<results>/figures/attention_heatmap.svg",
            caption="../report/attention_heatmap.rst",
            category="Position and attention",
            labels={"figure": "attention by layer and position"},
        ),
        png="<results>/figures/attention_heatmap.png",
    log:
        "<logs>/figures/attention_heatmap.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_attention_heatmap"),
        title=STUDY.title("attention_heatmap"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_attention_heatmap.py"


rule plot_first_token:
    input:
        summary="<results>/tables/summary.parquet",
    output:
        svg=report(
            "<results>/figures/first_token.svg",
            caption="../report/first_token.rst",
            category="Position and attention",
            labels={"figure": "norms and the first token"},
        ),
        png="<results>/figures/first_token.png",
    log:
        "<logs>/figures/first_token.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_first_token"),
        title=STUDY.title("first_token"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_first_token.py"


rule plot_cosine_histogram:
    input:
        cosines="<results>/tables/cosines.parquet",
        summary="<results>/tables/summary.parquet",
    output:
        svg=report(
            "<results>/figures/cosine_histogram.svg",
            caption="../report/cosine_histogram.rst",
            category="Metrics",
            labels={"metric": "cosines between tokens"},
        ),
        png="<results>/figures/cosine_histogram.png",
    log:
        "<logs>/figures/cosine_histogram.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_cosine_histogram"),
        title=STUDY.title("cosine_histogram"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_cosine_histogram.py"


rule plot_similarity:
    input:
        similarity="<results>/tables/similarity.parquet",
    output:
        svg=report(
            "<results>/figures/similarity.svg",
            caption="../report/similarity.rst",
            category="Data",
            labels={"figure": "similarity to the original"},
        ),
        png="<results>/figures/similarity.png",
    log:
        "<logs>/figures/similarity.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_similarity"),
        title=STUDY.title("similarity"),
        threshold=STUDY.similarity.threshold,
        variants=STUDY.labelled(STUDY.rewritten),
    script:
        "../scripts/plot_similarity.py"


rule plot_placement:
    input:
        placement="<results>/tables/placement.parquet",
    output:
        svg=report(
            "<results>/figures/placement.svg",
            caption="../report/placement.rst",
            category="Data",
            labels={"figure": "where key phrases stand"},
        ),
        png="<results>/figures/placement.png",
    log:
        "<logs>/figures/placement.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_placement"),
        title=STUDY.title("placement"),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_placement.py"


rule plot_contrast:
    input:
        contrasts="<results>/tables/contrasts.parquet",
    output:
        svg=report(
            "<results>/figures/contrasts/{metric}.svg",
            caption="../report/contrast.rst",
            category="Contrasts",
            labels={"contrasts": "{metric}"},
        ),
        png="<results>/figures/contrasts/{metric}.png",
    log:
        "<logs>/figures/contrasts/{metric}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_contrast"),
        metric=lambda wildcards: wildcards.metric,
        title=lambda wildcards: f"{STUDY.title('contrast')}: {STUDY.title(wildcards.metric)}",
        label=lambda wildcards: STUDY.axis_label(wildcards.metric),
        views=STUDY.figures.views,
        contrasts=STUDY.contrasted,
        alpha=1 - STUDY.contrasts.confidence,
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_contrast.py"


rule plot_components:
    input:
        components="<results>/tables/components.parquet",
    output:
        svg=report(
            "<results>/figures/components.svg",
            caption="../report/components.rst",
            category="Contrasts",
            labels={"figure": "components of a block"},
        ),
        png="<results>/figures/components.png",
    log:
        "<logs>/figures/components.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_components"),
        title=STUDY.title("components"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_components.py"


rule plot_first_token_scatter:
    input:
        metrics="<results>/tables/metrics.parquet",
        first_token="<results>/tables/first_token.parquet",
    output:
        svg=report(
            "<results>/figures/first_token_scatter.svg",
            caption="../report/first_token_scatter.rst",
            category="Position and attention",
            labels={"figure": "singular anisotropy and the first token"},
        ),
        png="<results>/figures/first_token_scatter.png",
    log:
        "<logs>/figures/first_token_scatter.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_first_token_scatter"),
        title=STUDY.title("first_token_scatter"),
        models=STUDY.labelled(STUDY.models),
        variants=STUDY.labelled(STUDY.variants),
    script:
        "../scripts/plot_first_token_scatter.py"


rule plot_sensitivity:
    input:
        responses="<results>/tables/sensitivity.csv",
    output:
        svg=report(
            "<results>/figures/sensitivity.svg",
            caption="../report/sensitivity.rst",
            category="Metrics",
            labels={"metric": "what the metrics answer to"},
        ),
        png="<results>/figures/sensitivity.png",
    log:
        "<logs>/figures/sensitivity.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_sensitivity"),
        title=STUDY.title("sensitivity"),
    script:
        "../scripts/plot_sensitivity.py"


rule plot_claims:
    input:
        claims="<results>/tables/claims.csv",
    output:
        svg=report(
            "<results>/figures/claims.svg",
            caption="../report/claims.rst",
            category="Claims",
            labels={"table": "the board"},
        ),
        png="<results>/figures/claims.png",
    log:
        "<logs>/figures/claims.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plot_claims"),
        title=STUDY.title("claims"),
        models=STUDY.labelled(STUDY.models),
    script:
        "../scripts/plot_claims.py"


rule make_report:
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
        config=config | {"results": STUDY.results, "claims": STUDY.claims},
    script:
        "../scripts/make_report.py"
