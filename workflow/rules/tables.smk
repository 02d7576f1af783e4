# Files of variants, states and measures -> long tables over all models, variants and shards -> estimates -> verdicts.
# A job makes its tables one after the other; `tables` names the module that makes each, with its parameters. Tables
# that a study does not have (OPTIONAL in common.smk) are neither made nor read.

# tables are made again where any of it is edited
TABULATED_BY = (*MEASURED_BY, "variants", "metrics", "interventions.patterns", "interventions.schemas")
TABULATED_BY += ("consequences.schemas", "tables")
ESTIMATED_BY = (*TABULATED_BY, "statistics")
WITH_MARGIN = {"resampling": {"seed": STUDY.seed} | STUDY.contrasts.params("margin")}
OF_ENOUGH = STUDY.contrasts.params("min_reviews")
# MB of a number of each text that each model reads
BY_READINGS = 6 * len(STUDY.models) * len(STUDY.variants) * STUDY.corpus.n_reviews // 5


# which rewritten texts are accepted, where key phrases stand, what was rejected, what readers find sound
rule collect_texts:
    """Makes tables of texts, of measures, of estimates or of verdicts."""
    input:
        originals=of_variants("variants", ["original"]),
        rewritten=of_variants("variants", STUDY.rewritten),
        similarity=of_variants("similarity", STUDY.rewritten),
        random_pairs=of_variants("similarity", ["random_pairs"]) if STUDY.rewritten else [],
        fluency=of_variants("fluency", STUDY.variants) if STUDY.fluency else [],
        candidates=of_variants("variants", STUDY.written, ".candidates.parquet"),
        shards=SAMPLE if STUDY.written else [],
        audited=of_variants("variants", ["original", *STUDY.placed]) if STUDY.audit.ratings else [],
        ratings=STUDY.audit.ratings,
    output:
        **made("similarity", "acceptance", "rewriting", "audit"),
    log:
        "<logs>/tables/collect_texts.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code("tabulate", *TABULATED_BY),
        tables={
            "tables.similarity": {
                "variants": sorted(STUDY.rewritten),
                "always_accepted": sorted(set(STUDY.rewritten) - set(STUDY.placed)),
                "threshold": STUDY.similarity.threshold,
                "max_excess": STUDY.fluency.max_excess if STUDY.fluency else None,
                "n_reviews": STUDY.corpus.n_reviews,
            },
            "tables.rewriting": {"variants": STUDY.written},
            "tables.audit": {},
        },
    script:
        "../scripts/tabulate.py"


# metrics of every text, layer and view; pooled tokens, MAUVE, predictions, attention, components, training
use rule collect_texts as collect with:
    input:
        **tables("similarity"),
        matrices=of_jobs("measures", STUDY.jobs, name="matrices"),
        attention=of_jobs("measures", STUDY.jobs, name="attention"),
        texts=of_jobs("measures", STUDY.jobs, name="texts"),
        pooled=of_jobs("pooled", STUDY.jobs_of(["original"])),
        mauve=of_jobs("mauve", STUDY.jobs_of(STUDY.mauve.variants or STUDY.variants)),
        components=of_jobs("components", STUDY.jobs_of(STUDY.components.variants) if STUDY.components else []),
        losses=expand("<results>/training/{model}/losses.parquet", model=STUDY.trained_models),
    output:
        **made("metrics", "predictions", "summary", "attention", "pooled"),
        **made("mauve", "components", "balance", "training"),
    log:
        "<logs>/tables/collect.log",
    resources:
        mem_mb=per_attempt(2000 + BY_READINGS),
    params:
        tables={
            "tables.metrics": {"metrics": sorted(STUDY.metrics)},
            "tables.predictions": {},
            "tables.summary": {},
            "tables.attention": {},
            "tables.pooled": {},
            "tables.mauve": {},
            "tables.components": {},
            "tables.balance": {"pairs": STUDY.balanced},
            "tables.training": {"models": STUDY.trained_models},
        },


# differences between variants, changes over depth, peaks and troughs, what penalties do
use rule collect_texts as estimate with:
    input:
        **tables("metrics", "summary", "similarity", "predictions", "pooled", "training"),
        corpus=SAMPLE if STUDY.contrasts.by else [],
    output:
        **made("contrasts", "depth", "extrema", "penalties"),
    log:
        "<logs>/tables/estimate.log",
    resources:
        mem_mb=per_attempt(4000 + BY_READINGS),
        runtime=per_attempt(240),
    params:
        code=code("tabulate", *ESTIMATED_BY),
        tables={
            "statistics.contrasts": {
                **WITH_MARGIN,
                **OF_ENOUGH,
                **STUDY.corpus.in_sample(STUDY.contrasts.params("by")),
                "n_reviews": STUDY.corpus.n_reviews,
                "contrasts": STUDY.estimated_contrasts,
                "names": STUDY.estimated_metrics("contrasts"),
                "models": list(STUDY.models),
                "ladder": STUDY.ladder,
            },
            "statistics.depth": {**WITH_MARGIN, "names": STUDY.estimated_metrics("depth")},
            "statistics.extrema": {"names": STUDY.contrasted_metrics},
            "statistics.penalties": {"controls": PENALTY_CONTROLS, "resampling": {"seed": STUDY.seed}},
        },


# probes of the labels, from the pooled states of a model
use rule estimate as probe_states with:
    input:
        states=lambda wildcards: of_jobs(
            "consequences", [job for job in STUDY.consequence_jobs if job[0] == wildcards.model], ".states.parquet"
        ),
        shards=expand("<results>/corpus/{shard}.parquet", shard=sorted({job[3] for job in STUDY.consequence_jobs})),
    output:
        readings="<results>/consequences/{model}.parquet",
    log:
        "<logs>/consequences/{model}.log",
    resources:
        mem_mb=per_attempt(8000),
        runtime=per_attempt(240),
    params:
        code=code("tabulate", "corpus", "interventions.schemas", "consequences"),
        tables=lambda wildcards: {
            "consequences.probing": {
                "model": wildcards.model,
                "variants": sorted({job[1] for job in STUDY.consequence_jobs}),
                "folds": 5 if STUDY.corpus.label_column else None,
                "seed": STUDY.seed,
            }
        },


# what changed attention does to tokens and to the model, and what homogenization costs
use rule estimate as estimate_effects with:
    input:
        **tables("similarity"),
        intervened=of_jobs("interventions", STUDY.intervention_jobs),
        doses=of_jobs("interventions", STUDY.intervention_jobs, ".doses.parquet"),
        metrics=of_jobs("consequences", STUDY.consequence_jobs),
        texts=of_jobs("consequences", STUDY.consequence_jobs, ".doses.parquet"),
        readings=of_jobs("consequences", sorted({job[:1] for job in STUDY.consequence_jobs})),
    output:
        **made("intervened", "doses", "interventions", "consequences", "probes"),
    log:
        "<logs>/tables/estimate_effects.log",
    resources:
        # the runs of one model and variant are in memory at a time
        mem_mb=per_attempt(
            8000 + (STUDY.interventions.n_reviews * len(STUDY.conditions) // 4 if STUDY.interventions else 0)
        ),
        runtime=per_attempt(240),
    params:
        tables={
            "tables.intervened": {},
            "statistics.effects": {**WITH_MARGIN, **OF_ENOUGH},
            "statistics.consequences": {**WITH_MARGIN, **OF_ENOUGH, "controls": STUDY.controls},
        },


# a verdict on every claim in every model
use rule collect_texts as judge_claims with:
    input:
        **tables("contrasts", "depth", "components", "interventions", "consequences"),
    output:
        **made("claims"),
    log:
        "<logs>/tables/judge_claims.log",
    resources:
        mem_mb=per_attempt(2000),
    params:
        code=code("tabulate", *ESTIMATED_BY, "interventions.conditions", "claims"),
        tables={
            "claims.judgement": {
                "claims": STUDY.judged_claims,
                "models": list(STUDY.models),
                "resampling": {"seed": STUDY.seed},
            },
        },


# a table for readers to fill in: snakemake --cores 4 audit
use rule collect_texts as audit with:
    input:
        variants=of_variants("variants", ["original", *STUDY.placed]),
    output:
        sheet="<results>/audit/sheet.csv",
    log:
        "<logs>/audit.log",
    params:
        code=code("tabulate", "corpus", "variants"),
        tables={"variants.audit": {"seed": STUDY.seed}},


# without what the report says of them
TABLES = [*map(str, rules.collect_texts.output + rules.collect.output + rules.estimate.output)]
TABLES += [*map(str, rules.estimate_effects.output + rules.judge_claims.output)]
