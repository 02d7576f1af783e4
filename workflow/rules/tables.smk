# Files of variants, states and measures -> long tables over all models, variants and shards -> estimates -> verdicts.
# Each job makes its tables one after the other; `tables` names the module that makes each, with its parameters.

# tables are made again where any of it is edited
TABULATED_BY = (*MEASURED_BY, "variants", "metrics", "interventions.patterns", "interventions.schemas")
TABULATED_BY += ("consequences.schemas", "tables")
RESAMPLING = {"seed": STUDY.seed, **STUDY.contrasts.params("draws", "confidence")}
WITH_MARGIN = {"resampling": RESAMPLING | STUDY.contrasts.params("margin")}
ENOUGH_REVIEWS = {"n_reviews": STUDY.corpus.n_reviews, **STUDY.contrasts.params("min_reviews")}
# MB of a number of each text that each model reads
BY_READINGS = 6 * STUDY.n_readings // 5


rule collect_texts:
    """Which rewritten texts are accepted, where key phrases stand, what was rejected, what readers find sound."""
    input:
        originals=of_variants("variants", ["original"]),
        rewritten=of_variants("variants", STUDY.rewritten),
        texts=of_variants("variants", STUDY.variants),
        similarity=of_variants("similarity", STUDY.rewritten),
        random_pairs=of_variants("similarity", ["random_pairs"]),
        fluency=of_variants("fluency", STUDY.variants) if STUDY.fluency else [],
        candidates=of_variants("variants", STUDY.written, ".candidates.parquet"),
        shards=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
        audited=of_variants("variants", STUDY.audited_variants) if STUDY.audit.ratings else [],
        ratings=as_they_lie(STUDY.audit.ratings),
    output:
        **(
            {
                "candidates": "<results>/tables/candidates.parquet",
                "rewriting": shown_table("rewriting", "Rejected rewritings"),
            }
            if STUDY.written
            else {}
        ),
        **({"audit": shown_table("audit", "Sound sentences")} if STUDY.audit.ratings else {}),
        similarity="<results>/tables/similarity.parquet",
        acceptance=shown_table("acceptance", "Accepted rewritings"),
        placement="<results>/tables/placement.parquet",
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
            "tables.placement": {},
        }
        | ({"tables.rewriting": {"variants": STUDY.written}} if STUDY.written else {})
        | ({"tables.audit": {}} if STUDY.audit.ratings else {}),
    script:
        "../scripts/tabulate.py"


rule collect:
    """Metrics of every text, layer and view; attention, MAUVE, pooled tokens, components; balance of the controls."""
    input:
        similarity="<results>/tables/similarity.parquet",
        variants=of_variants("variants", STUDY.variants) if STUDY.balanced else [],
        runs=of_jobs("states", STUDY.jobs, ".json"),
        spectra=of_jobs("spectra", STUDY.jobs),
        geometry=of_jobs("geometry", STUDY.jobs),
        attention=of_jobs("attention", STUDY.jobs) if STUDY.states.record_attention else [],
        mauve=of_jobs("mauve", STUDY.jobs_of(STUDY.mauve_variants)),
        pooled=of_jobs("pooled", STUDY.jobs_of(STUDY.pooled.variants)),
        components=of_jobs("components", STUDY.component_jobs),
        losses=expand("<results>/training/{model}/losses.parquet", model=STUDY.trained_models),
    output:
        **({"attention": "<results>/tables/attention.parquet"} if STUDY.states.record_attention else {}),
        **({"components": "<results>/tables/components.parquet"} if STUDY.component_jobs else {}),
        **(
            {"training": "<results>/tables/training.parquet", "penalties": "<results>/tables/penalties.parquet"}
            if STUDY.trained_models
            else {}
        ),
        **({"balance": shown_table("balance", "Balance of the controls")} if STUDY.balanced else {}),
        extraction="<results>/tables/extraction.parquet",
        metrics="<results>/tables/metrics.parquet",
        summary="<results>/tables/summary.parquet",
        mauve="<results>/tables/mauve.parquet",
        pooled="<results>/tables/pooled.parquet",
    log:
        "<logs>/tables/collect.log",
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=per_attempt(2000 + BY_READINGS),
    params:
        code=code("tabulate", *TABULATED_BY),
        tables={"tables.extraction": {}}
        | (
            {"tables.balance": {"pairs": STUDY.balanced, "max_imbalance": STUDY.contrasts.max_imbalance}}
            if STUDY.balanced
            else {}
        )
        | {"tables.metrics": {"metrics": sorted(STUDY.tabulated_metrics)}, "tables.summary": {}}
        | ({"tables.attention": {}} if STUDY.states.record_attention else {})
        | {"tables.mauve": {}, "tables.pooled": {}}
        | ({"tables.components": {}} if STUDY.component_jobs else {})
        | (
            {"tables.training": {"models": STUDY.trained_models, "controls": STUDY.penalty_controls}}
            if STUDY.trained_models
            else {}
        ),
    script:
        "../scripts/tabulate.py"


rule estimate:
    """Differences between variants, changes over depth, peaks and troughs, the part of the first token."""
    input:
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        pooled="<results>/tables/pooled.parquet",
        balance="<results>/tables/balance.csv" if STUDY.balanced else [],
    output:
        **({"extrema": "<results>/tables/extrema.parquet"} if STUDY.finds_extrema else {}),
        **({"first_token": "<results>/tables/first_token.parquet"} if STUDY.correlates_first_token else {}),
        contrasts="<results>/tables/contrasts.parquet",
        comparisons=shown_table("comparisons", "Reviews of each comparison"),
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
                "names": STUDY.estimated_metrics("contrast"),
            },
            "statistics.depth": {
                **WITH_MARGIN,
                "names": STUDY.estimated_metrics("slope", "net_change", "steepest"),
            },
        }
        | (
            {
                "statistics.extrema": {
                    **STUDY.extrema.params(),
                    **STUDY.contrasts.params("confidence"),
                    "names": STUDY.contrasted_metrics,
                }
            }
            if STUDY.finds_extrema
            else {}
        )
        | ({"statistics.first_token": {"resampling": RESAMPLING}} if STUDY.correlates_first_token else {}),
    script:
        "../scripts/tabulate.py"


INTERVENES = bool(STUDY.intervention_jobs)
READS = STUDY.reading

if INTERVENES or READS:

    rule estimate_effects:
        """What changed attention does to tokens and to the model; what homogenization costs."""
        input:
            similarity="<results>/tables/similarity.parquet",
            intervened=of_jobs("interventions", STUDY.intervention_jobs),
            doses=of_jobs("interventions", STUDY.intervention_jobs, ".doses.parquet"),
            metrics=of_jobs("consequences", READS.jobs) if READS else [],
            texts=of_jobs("consequences", READS.jobs, ".doses.parquet") if READS else [],
            readings=expand("<results>/consequences/{model}.parquet", model=READS.models if READS else []),
        output:
            **(
                {
                    "intervened": "<results>/tables/intervened.parquet",
                    "intervened_layers": "<results>/tables/intervened_layers.parquet",
                    "interventions": "<results>/tables/interventions.parquet",
                    "doses": shown_table("doses", "Doses of each condition", category="Causes"),
                }
                if INTERVENES
                else {}
            ),
            **(
                {
                    "consequences": "<results>/tables/consequences.parquet",
                    "probes": "<results>/tables/probes.parquet",
                    "harm": shown_table(
                        "harm",
                        "Homogenization and harm of each condition",
                        category="Consequences",
                        caption="harm_table",
                    ),
                }
                if READS
                else {}
            ),
        log:
            "<logs>/tables/estimate_effects.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            # the runs of one model and variant are in memory at a time
            mem_mb=per_attempt(8000 + STUDY.n_runs // 4),
            runtime=per_attempt(240),
        params:
            code=code("tabulate", *TABULATED_BY, "statistics"),
            tables=(
                {
                    "tables.intervened": {},
                    "statistics.interventions": {**WITH_MARGIN, **STUDY.contrasts.params("min_reviews")},
                }
                if INTERVENES
                else {}
            )
            | (
                {
                    "tables.consequences": {},
                    "statistics.consequences": {"resampling": RESAMPLING, "controls": STUDY.controls},
                }
                if READS
                else {}
            ),
        script:
            "../scripts/tabulate.py"


if STUDY.judged_claims:

    rule judge_claims:
        """A verdict on every claim in every model."""
        input:
            metrics="<results>/tables/metrics.parquet",
            similarity="<results>/tables/similarity.parquet",
            pooled="<results>/tables/pooled.parquet",
            contrasts="<results>/tables/contrasts.parquet",
            depth="<results>/tables/depth.parquet",
            components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
            interventions="<results>/tables/interventions.parquet" if INTERVENES else [],
            consequences="<results>/tables/consequences.parquet" if READS else [],
        output:
            claims=shown_table("claims", "Every claim and model", category="Claims"),
        log:
            "<logs>/tables/judge_claims.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            mem_mb=per_attempt(4000 + BY_READINGS),
            runtime=per_attempt(120),
        params:
            code=code("tabulate", *TABULATED_BY, "statistics", "claims"),
            tables={
                "claims.judgement": {
                    **WITH_MARGIN,
                    **ENOUGH_REVIEWS,
                    "claims": STUDY.judged_claims,
                    "models": sorted(STUDY.models),
                    "variants": sorted(STUDY.variants),
                }
            },
        script:
            "../scripts/tabulate.py"


TABLES = [*rules.collect_texts.output, *rules.collect.output, *rules.estimate.output]
TABLES += rules.estimate_effects.output if INTERVENES or READS else []
TABLES += rules.judge_claims.output if STUDY.judged_claims else []


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
