# Tables -> contrasts, depth, extrema, the first token, interventions, consequences, training, verdicts.
# Matrices of known kinds -> what the metrics answer to.

# parameters of the resampling of reviews, the same for every table
RESAMPLING = {"seed": STUDY.seed, **STUDY.contrasts.params("draws", "confidence")}
# what decides whether a comparison of variants has enough reviews, and whether a difference is large enough to matter
REVIEWS = {"n_reviews": STUDY.corpus.n_reviews, **STUDY.contrasts.params("min_reviews", "margin")}


def words(table):
    """The template of a table's sentences. As a parameter, an edit of it makes this table again, and no other."""
    template = (LIBRARY.parent / "report" / "answers" / f"{table}.jinja").read_text("utf-8")
    return lambda wildcards: template  # Snakemake looks for wildcards in a text, but not in what a function returns


rule test_contrasts:
    """Differences between variants of a review, with intervals and tests, where enough reviews are accepted."""
    input:
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        common_length="<results>/tables/common_length.parquet" if STUDY.common_tokens else [],
        balance="<results>/tables/balance.csv" if STUDY.balanced else [],
    output:
        contrasts="<results>/tables/contrasts.parquet",
        comparisons=report(
            "<results>/tables/comparisons.csv",
            caption="../report/comparisons.rst",
            category="Data",
            labels={"table": "reviews of each comparison"},
        ),
    log:
        "<logs>/tables/test_contrasts.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
        runtime=per_attempt(120),
    params:
        **RESAMPLING,
        **REVIEWS,
        code=code("tabulate", "statistics.contrasts"),
        module="statistics.contrasts",
        contrasts=sorted(STUDY.contrasted),
        metrics=STUDY.contrasted_metrics,
    script:
        "../scripts/tabulate.py"


rule measure_depth:
    """Slopes, rates and steepest steps of metrics over depth."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        "<results>/tables/depth.parquet",
    log:
        "<logs>/tables/measure_depth.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
        runtime=per_attempt(120),
    params:
        **RESAMPLING,
        code=code("tabulate", "statistics.depth"),
        module="statistics.depth",
        metrics=STUDY.contrasted_metrics,
    script:
        "../scripts/tabulate.py"


if STUDY.finds_extrema:

    rule find_extrema:
        """Peaks and troughs of metrics over depth, and what happens in the blocks around them."""
        input:
            metrics="<results>/tables/metrics.parquet",
            components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
            positional="<results>/tables/positional.parquet" if STUDY.positional_jobs else [],
            sinks="<results>/tables/sinks.parquet" if STUDY.positional_jobs else [],
        output:
            extrema="<results>/tables/extrema.parquet",
            blocks="<results>/tables/extrema_blocks.parquet",
            peaks=report(
                "<results>/tables/peaks.csv",
                caption="../report/peaks.rst",
                category="Contrasts",
                labels={"table": "what happens at the peak"},
            ),
        log:
            "<logs>/tables/find_extrema.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
            runtime=per_attempt(120),
        params:
            **RESAMPLING,
            **STUDY.extrema.params(),
            code=code("tabulate", "statistics.extrema"),
            module="statistics.extrema",
            metrics=STUDY.contrasted_metrics,
            models=sorted(STUDY.models),
            words=words("peaks"),
        script:
            "../scripts/tabulate.py"


if STUDY.correlates_first_token:

    rule correlate_first_token:
        """Correlations of singular anisotropy with the first token's norm, energy and attention."""
        input:
            metrics="<results>/tables/metrics.parquet",
        output:
            "<results>/tables/first_token.parquet",
        log:
            "<logs>/tables/correlate_first_token.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
            runtime=per_attempt(120),
        params:
            **RESAMPLING,
            code=code("tabulate", "statistics.first_token"),
            module="statistics.first_token",
        script:
            "../scripts/tabulate.py"


if STUDY.intervention_jobs:

    rule test_interventions:
        """Effects of changed attention beside controls of equal strength and equal damage, and slopes at no dose."""
        input:
            intervened="<results>/tables/intervened.parquet",
            similarity="<results>/tables/similarity.parquet",
            slopes=over_jobs(
                "<results>/interventions/{model}/{variant}/{shard}.slopes.parquet", STUDY.intervention_jobs
            ),
        output:
            interventions="<results>/tables/interventions.parquet",
            slopes="<results>/tables/slopes.parquet",
        log:
            "<logs>/tables/test_interventions.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + STUDY.n_runs // 10),
            runtime=per_attempt(120),
        params:
            **RESAMPLING,
            code=code("tabulate", "statistics.interventions"),
            module="statistics.interventions",
        script:
            "../scripts/tabulate.py"


if STUDY.intervention_jobs and STUDY.interventions.slopes:

    rule explain_slopes:
        """Whether what a pattern delivers to tokens tells its slope, over the blocks of a model."""
        input:
            similarity="<results>/tables/similarity.parquet",
            delivered=over_jobs(
                "<results>/interventions/{model}/{variant}/{shard}.delivered.parquet", STUDY.intervention_jobs
            ),
        output:
            delivered="<results>/tables/delivered.parquet",
            mechanism=report(
                "<results>/tables/mechanism.csv",
                caption="../report/mechanism.rst",
                category="Causes",
                labels={"table": "does what a pattern delivers tell its slope?"},
            ),
        log:
            "<logs>/tables/explain_slopes.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            **RESAMPLING,
            code=code("tabulate", "statistics.mechanism"),
            module="statistics.mechanism",
        script:
            "../scripts/tabulate.py"


if STUDY.consequences:

    rule test_consequences:
        """Probes, shifts, predictability and harm by condition, with intervals, and what they say in words."""
        input:
            consequences="<results>/tables/consequences.parquet",
            readings=expand("<results>/consequences/{model}.parquet", model=STUDY.reading.models),
            metrics=over_jobs("<results>/consequences/{model}/{variant}/{shard}.parquet", STUDY.reading.of_variants),
            texts=over_jobs("<results>/consequences/{model}/{variant}/{shard}.texts.parquet", STUDY.reading.jobs),
            similarity="<results>/tables/similarity.parquet",
        output:
            probes="<results>/tables/probes.parquet",
            shifts="<results>/tables/shifts.parquet",
            predictability="<results>/tables/predictability.parquet",
            harm=report(
                "<results>/tables/harm.csv",
                caption="../report/harm_table.rst",
                category="Consequences",
                labels={"table": "homogenization and harm of each condition"},
            ),
            answers=report(
                "<results>/tables/consequences.csv",
                caption="../report/consequences.rst",
                category="Consequences",
                labels={"table": "does homogenization harm?"},
            ),
        log:
            "<logs>/tables/test_consequences.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(8000),
            runtime=per_attempt(120),
        params:
            **RESAMPLING,
            code=code("tabulate", "statistics.consequences"),
            module="statistics.consequences",
            models=STUDY.reading.models,
            perturbations=STUDY.consequences.perturbations,
            controls=STUDY.controls,
            words=words("consequences"),
        script:
            "../scripts/tabulate.py"


if STUDY.predicted_models:

    rule predict_variants:
        """Whether a variant's effect is what the dial predicts from where its attention goes by position."""
        input:
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            positional="<results>/tables/positional.parquet",
            slopes=over_jobs(
                "<results>/interventions/{model}/{variant}/{shard}.slopes.parquet", STUDY.intervention_jobs
            ),
        output:
            predictions=report(
                "<results>/tables/predictions.csv",
                caption="../report/predictions.rst",
                category="Causes",
                labels={"table": "variants' effects, predicted and measured"},
            ),
        log:
            "<logs>/tables/predict_variants.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
        params:
            **RESAMPLING,
            code=code("tabulate", "statistics.predictions"),
            module="statistics.predictions",
        script:
            "../scripts/tabulate.py"


if STUDY.sloped_models:

    rule describe_causes:
        """What slopes explain, in words: variants' effects, and why attention to the first token does what it does."""
        input:
            mechanism="<results>/tables/mechanism.csv",
            predictions="<results>/tables/predictions.csv" if STUDY.predicted_models else [],
        output:
            report(
                "<results>/tables/causes.csv",
                caption="../report/causes.rst",
                category="Causes",
                labels={"table": "what changed attention explains"},
            ),
        log:
            "<logs>/tables/describe_causes.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "statistics.causes_in_words"),
            module="statistics.causes_in_words",
            models=STUDY.sloped_models,
            words=words("causes"),
        script:
            "../scripts/tabulate.py"


if STUDY.trained_models:

    rule describe_training:
        """What trained models learnt, and what sets two arms apart, in words."""
        input:
            training="<results>/tables/training.parquet",
            arms="<results>/tables/arms.parquet",
        output:
            report(
                "<results>/tables/training.csv",
                caption="../report/training_in_words.rst",
                category="Training",
                labels={"table": "what was learnt, and what sets arms apart"},
            ),
        log:
            "<logs>/tables/describe_training.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "statistics.training_in_words"),
            module="statistics.training_in_words",
            pairs=STUDY.arms,
            with_start=STUDY.arms_and_their_start,
            words=words("training"),
        script:
            "../scripts/tabulate.py"


if STUDY.sensitivity:

    rule probe_metrics:
        """Every metric on matrices whose tokens are made alike, compressed, or dominated by one token."""
        output:
            sensitivity="<results>/tables/sensitivity.parquet",
            responses="<results>/tables/sensitivity.csv",
        log:
            "<logs>/tables/probe_metrics.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            **STUDY.sensitivity.params(),
            code=code("tabulate", "statistics.sensitivity"),
            module="statistics.sensitivity",
            seed=STUDY.seed,
        script:
            "../scripts/tabulate.py"


if STUDY.judged_claims:

    rule judge_claims:
        """A verdict on every claim for every model."""
        input:
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
            pooled="<results>/tables/pooled.parquet",
            intervened="<results>/tables/intervened.parquet" if STUDY.intervention_jobs else [],
            consequences="<results>/tables/consequences.parquet" if STUDY.consequences else [],
            training="<results>/tables/training.parquet" if STUDY.trained_models else [],
            extrema="<results>/tables/extrema.parquet" if STUDY.finds_extrema else [],
        output:
            claims=report(
                "<results>/tables/claims.csv",
                caption="../report/claims.rst",
                category="Claims",
                labels={"table": "every claim and model"},
            ),
            verdicts="<results>/tables/verdicts.csv",
            answers="<results>/tables/answers.csv",
        log:
            "<logs>/tables/judge_claims.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(4000 + 6 * STUDY.n_readings // 5),
            runtime=per_attempt(120),
        params:
            **RESAMPLING,
            **REVIEWS,
            code=code(
                "tabulate",
                "claims.judgement",
                *sorted({f"claims.statistics.{claim['statistic']}" for claim in STUDY.judged_claims}),
            ),
            module="claims.judgement",
            claims=STUDY.judged_claims,
            models=sorted(STUDY.models),
            variants=sorted(STUDY.variants),
            controls=STUDY.controls,
            trained=STUDY.trained_models,
            words=words("claims"),
        script:
            "../scripts/tabulate.py"
