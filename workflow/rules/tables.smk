# Files of variants, states and measures -> long tables over all models, variants and shards -> estimates -> verdicts.
# Each job makes its tables one after the other; `tables` names the module that makes each, with its parameters.

# tables are made again where any of it is edited
TABULATED_BY = (*MEASURED_BY, "variants", "metrics", "interventions.patterns", "interventions.schemas")
TABULATED_BY += ("consequences.schemas", "tables")
RESAMPLING = {"seed": STUDY.seed}
WITH_MARGIN = {"resampling": RESAMPLING | STUDY.contrasts.params("margin")}
ENOUGH_REVIEWS = {"n_reviews": STUDY.corpus.n_reviews, **STUDY.contrasts.params("min_reviews")}
# MB of a number of each text that each model reads
BY_READINGS = 6 * STUDY.n_readings // 5


rule collect_texts:
    """Which rewritten texts are accepted, where key phrases stand, what was rejected, what readers find sound."""
    input:
        originals=of_variants("variants", ["original"]),
        rewritten=of_variants("variants", STUDY.rewritten),
        similarity=of_variants("similarity", STUDY.rewritten),
        random_pairs=of_variants("similarity", ["random_pairs"]) if STUDY.rewritten else [],
        fluency=of_variants("fluency", STUDY.variants) if STUDY.fluency else [],
        candidates=of_variants("variants", STUDY.written, ".candidates.parquet"),
        shards=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards) if STUDY.written else [],
        audited=of_variants("variants", STUDY.audited_variants) if STUDY.audit.ratings else [],
        ratings=without_prefix(STUDY.audit.ratings),
    output:
        **when(STUDY.written, rewriting=shown_table("rewriting", "Rejected rewritings")),
        **when(STUDY.audit.ratings, audit=shown_table("audit", "Sound sentences")),
        similarity="<results>/tables/similarity.parquet",
        acceptance=shown_table("acceptance", "Accepted rewritings"),
    log:
        "<logs>/tables/collect_texts.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("tabulate", *TABULATED_BY),
        tables={
            "tables.similarity": {
                "variants": sorted(STUDY.rewritten),
                "positions": {
                    name: getattr(STUDY.variants[name], "position", None) for name in sorted(STUDY.rewritten)
                },
                "always_accepted": STUDY.reordered,
                "threshold": STUDY.similarity.threshold,
                "max_excess": STUDY.fluency.max_excess if STUDY.fluency else None,
                "n_reviews": STUDY.corpus.n_reviews,
            },
            **when(STUDY.written, **{"tables.rewriting": {"variants": STUDY.written}}),
            **when(STUDY.audit.ratings, **{"tables.audit": {}}),
        },
    script:
        "../scripts/tabulate.py"


rule collect:
    """Metrics of every text, layer and view, and of pooled tokens; predictions; attention by position."""
    input:
        similarity="<results>/tables/similarity.parquet",
        matrices=of_jobs("measures", STUDY.jobs, name="matrices"),
        attention=of_jobs("measures", STUDY.jobs, name="attention"),
        texts=of_jobs("measures", STUDY.jobs, name="texts"),
        pooled=of_jobs("pooled", STUDY.jobs_of(["original"])),
    output:
        attention="<results>/tables/attention.parquet",
        metrics="<results>/tables/metrics.parquet",
        predictions="<results>/tables/predictions.parquet",
        summary="<results>/tables/summary.parquet",
        pooled="<results>/tables/pooled.parquet",
    log:
        "<logs>/tables/collect.log",
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=per_attempt(2000 + BY_READINGS),
    params:
        code=code("tabulate", *TABULATED_BY),
        tables={
            "tables.metrics": {"metrics": sorted(STUDY.metrics)},
            "tables.predictions": {},
            "tables.summary": {},
            "tables.attention": {},
            "tables.pooled": {},
        },
    script:
        "../scripts/tabulate.py"


rule collect_further:
    """MAUVE between layers, components of a block, balance of the controls, training."""
    input:
        similarity="<results>/tables/similarity.parquet",
        mauve=of_jobs("mauve", STUDY.jobs_of(STUDY.mauve_variants)),
        components=of_jobs("components", STUDY.component_jobs),
        predictions="<results>/tables/predictions.parquet" if STUDY.balanced else [],
        losses=expand("<results>/training/{model}/losses.parquet", model=STUDY.trained_models),
    output:
        **when(STUDY.balanced, balance=shown_table("balance", "Balance of the controls")),
        **when(STUDY.component_jobs, components="<results>/tables/components.parquet"),
        **when(STUDY.trained_models, training="<results>/tables/training.parquet"),
        mauve="<results>/tables/mauve.parquet",
    log:
        "<logs>/tables/collect_further.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("tabulate", *TABULATED_BY),
        tables={
            "tables.mauve": {},
            **when(STUDY.component_jobs, **{"tables.components": {}}),
            **when(STUDY.balanced, **{"tables.balance": {"pairs": STUDY.balanced}}),
            **when(STUDY.trained_models, **{"tables.training": {"models": STUDY.trained_models}}),
        },
    script:
        "../scripts/tabulate.py"


rule estimate:
    """Differences between variants, changes over depth, peaks and troughs, what penalties do."""
    input:
        metrics="<results>/tables/metrics.parquet",
        summary="<results>/tables/summary.parquet",
        similarity="<results>/tables/similarity.parquet",
        predictions="<results>/tables/predictions.parquet",
        pooled="<results>/tables/pooled.parquet",
        training="<results>/tables/training.parquet" if STUDY.penalty_controls else [],
        corpus=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards) if STUDY.contrasts.by else [],
    output:
        **when(STUDY.contrasted_metrics, extrema="<results>/tables/extrema.parquet"),
        **when(STUDY.penalty_controls, penalties="<results>/tables/penalties.parquet"),
        contrasts="<results>/tables/contrasts.parquet",
        depth="<results>/tables/depth.parquet",
    log:
        "<logs>/tables/estimate.log",
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=per_attempt(4000 + BY_READINGS),
        runtime=per_attempt(240),
    params:
        code=code("tabulate", *TABULATED_BY, "statistics"),
        tables={
            "statistics.contrasts": {
                **WITH_MARGIN,
                **ENOUGH_REVIEWS,
                "contrasts": sorted({*STUDY.contrasted, *STUDY.claimed_contrasts}),
                "names": STUDY.estimated_metrics("contrasts"),
                "models": list(STUDY.models),
                "ladder": STUDY.ladder,
                **STUDY.contrasts.params("by"),
            },
            "statistics.depth": {**WITH_MARGIN, "names": STUDY.estimated_metrics("depth")},
            **when(STUDY.contrasted_metrics, **{"statistics.extrema": {"names": STUDY.contrasted_metrics}}),
            **when(
                STUDY.penalty_controls,
                **{"statistics.penalties": {"controls": STUDY.penalty_controls, "resampling": RESAMPLING}},
            ),
        },
    script:
        "../scripts/tabulate.py"


if STUDY.intervention_jobs:

    rule estimate_interventions:
        """What changed attention does to tokens and to the model."""
        input:
            similarity="<results>/tables/similarity.parquet",
            intervened=of_jobs("interventions", STUDY.intervention_jobs),
            doses=of_jobs("interventions", STUDY.intervention_jobs, ".doses.parquet"),
        output:
            intervened="<results>/tables/intervened.parquet",
            doses=shown_table("doses", "Doses of each condition", category="Causes"),
            interventions="<results>/tables/interventions.parquet",
        log:
            "<logs>/tables/estimate_interventions.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            # the runs of one model and variant are in memory at a time
            mem_mb=per_attempt(4000 + STUDY.n_runs // 4),
            runtime=per_attempt(240),
        params:
            code=code("tabulate", *TABULATED_BY, "statistics"),
            tables={
                "tables.intervened": {},
                "statistics.effects": {**WITH_MARGIN, **STUDY.contrasts.params("min_reviews")},
            },
        script:
            "../scripts/tabulate.py"


if STUDY.consequences:

    rule estimate_consequences:
        """What homogenization costs, untouched and under interventions."""
        input:
            similarity="<results>/tables/similarity.parquet",
            metrics=of_jobs("consequences", STUDY.reading.jobs),
            texts=of_jobs("consequences", STUDY.reading.jobs, ".doses.parquet"),
            readings=expand("<results>/consequences/{model}.parquet", model=STUDY.models),
        output:
            consequences="<results>/tables/consequences.parquet",
            probes="<results>/tables/probes.parquet",
        log:
            "<logs>/tables/estimate_consequences.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            mem_mb=per_attempt(8000),
            runtime=per_attempt(120),
        params:
            code=code("tabulate", *TABULATED_BY, "statistics"),
            tables={
                "statistics.consequences": {
                    **WITH_MARGIN,
                    **STUDY.contrasts.params("min_reviews"),
                    "controls": STUDY.controls,
                },
            },
        script:
            "../scripts/tabulate.py"


if STUDY.judged_claims:

    rule judge_claims:
        """A verdict on every claim in every model."""
        input:
            contrasts="<results>/tables/contrasts.parquet",
            depth="<results>/tables/depth.parquet",
            components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
            interventions="<results>/tables/interventions.parquet" if STUDY.intervention_jobs else [],
            consequences="<results>/tables/consequences.parquet" if STUDY.consequences else [],
        output:
            claims=shown_table("claims", "Every claim and model", category="Claims"),
        log:
            "<logs>/tables/judge_claims.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            mem_mb=per_attempt(2000),
        params:
            code=code("tabulate", *TABULATED_BY, "interventions.conditions", "statistics", "claims"),
            tables={
                "claims.judgement": {
                    "claims": STUDY.judged_claims,
                    "models": list(STUDY.models),
                    "resampling": RESAMPLING,
                },
            },
        script:
            "../scripts/tabulate.py"


TABLES = [*rules.collect_texts.output, *rules.collect.output, *rules.collect_further.output]
TABLES += rules.estimate.output
TABLES += rules.estimate_interventions.output if STUDY.intervention_jobs else []
TABLES += rules.estimate_consequences.output if STUDY.consequences else []
TABLES += rules.judge_claims.output if STUDY.judged_claims else []
# without what the report says of them
TABLES = [f"<results>/tables/{Path(file).name}" for file in TABLES]


rule sensitivity:
    """What the metrics answer to, on made-up matrices: snakemake --cores 1 sensitivity."""
    output:
        sensitivity="<results>/sensitivity.csv",
    log:
        "<logs>/sensitivity.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("tabulate", *TABULATED_BY, "statistics"),
        tables={"statistics.sensitivity": {"n_tokens": 128, "width": 256, "seeds": 8, "seed": STUDY.seed}},
    script:
        "../scripts/tabulate.py"
