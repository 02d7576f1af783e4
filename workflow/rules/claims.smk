# Tables of metrics -> contrasts, depth, the first token, what metrics answer to -> verdicts.


if STUDY.contrasted and STUDY.contrasted_metrics:

    rule test_contrasts:
        input:
            metrics="<results>/tables/metrics.parquet",
            common="<results>/tables/common_length.parquet" if STUDY.contrasts.common_tokens else [],
        output:
            contrasts="<results>/tables/contrasts.parquet",
        log:
            "<logs>/tables/test_contrasts.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
            runtime=per_attempt(120),
        params:
            code=code("test_contrasts"),
            contrasts=sorted(STUDY.contrasted),
            metrics=STUDY.contrasted_metrics,
            draws=STUDY.contrasts.draws,
            confidence=STUDY.contrasts.confidence,
            seed=STUDY.seed,
        script:
            "../scripts/test_contrasts.py"


rule measure_depth:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        depth="<results>/tables/depth.parquet",
    log:
        "<logs>/tables/measure_depth.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
        runtime=per_attempt(120),
    params:
        code=code("measure_depth"),
        metrics=STUDY.contrasted_metrics,
        draws=STUDY.contrasts.draws,
        confidence=STUDY.contrasts.confidence,
        seed=STUDY.seed,
    script:
        "../scripts/measure_depth.py"


if STUDY.correlates_first_token:

    rule correlate_first_token:
        input:
            metrics="<results>/tables/metrics.parquet",
        output:
            first_token="<results>/tables/first_token.parquet",
        log:
            "<logs>/tables/correlate_first_token.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
            runtime=per_attempt(120),
        params:
            code=code("correlate_first_token"),
            draws=STUDY.contrasts.draws,
            confidence=STUDY.contrasts.confidence,
            seed=STUDY.seed,
        script:
            "../scripts/correlate_first_token.py"


if STUDY.sensitivity:

    rule probe_metrics:
        output:
            sensitivity="<results>/tables/sensitivity.parquet",
            responses="<results>/tables/sensitivity.csv",
        log:
            "<logs>/tables/probe_metrics.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("probe_metrics"),
            shape=STUDY.sensitivity.params(),
            seed=STUDY.seed,
        script:
            "../scripts/probe_metrics.py"


if STUDY.judged_claims:

    rule judge_claims:
        input:
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
        output:
            claims=report(
                "<results>/tables/claims.csv",
                caption="../report/claims.rst",
                category="Claims",
                labels={"table": "every claim and model"},
            ),
            verdicts="<results>/tables/verdicts.csv",
        log:
            "<logs>/tables/judge_claims.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
            runtime=per_attempt(120),
        params:
            code=code("judge_claims"),
            claims=STUDY.judged_claims,
            models=sorted(STUDY.models),
            draws=STUDY.contrasts.draws,
            confidence=STUDY.contrasts.confidence,
            seed=STUDY.seed,
        script:
            "../scripts/judge_claims.py"
