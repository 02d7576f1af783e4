# Variants, by passes through a model whose attention may be changed -> metrics by layer, doses.
# The same, with pooled states and losses -> probes: what homogenization costs.
from homogenization.interventions.conditions import METRICS as INTERVENED_METRICS
from homogenization.names.consequences import METRICS


rule apply_interventions:
    """Runs reviews through a model in one condition, and measures their tokens after every block."""
    input:
        **READ_FILES,
    output:
        metrics="<results>/interventions/{model}/{variant}/{condition}/{shard}.parquet",
        doses="<results>/interventions/{model}/{variant}/{condition}/{shard}.doses.parquet",
    log:
        "<logs>/interventions/{model}/{variant}/{condition}/{shard}.log",
    conda:
        "../../envs/torch.yaml"
    threads: {"cpu": 1}.get(STUDY.device, 8)
    resources:
        mem_mb=memory(times=2),
        runtime=per_attempt(480),
        gpu=GPU,
    params:
        **READ_PARAMS,
        code=code("read_in_condition", *MEASURED_BY, "metrics", "interventions"),
        condition=lambda wildcards: vars(STUDY.conditions[wildcards.condition]),
        metrics=list(INTERVENED_METRICS),
        n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.interventions),
        seed=STUDY.seed,
    script:
        "../scripts/read_in_condition.py"


use rule apply_interventions as read_consequences with:
    output:
        metrics="<results>/consequences/{model}/{variant}/{condition}/{shard}.parquet",
        doses="<results>/consequences/{model}/{variant}/{condition}/{shard}.doses.parquet",
        states="<results>/consequences/{model}/{variant}/{condition}/{shard}.states.parquet",
    log:
        "<logs>/consequences/{model}/{variant}/{condition}/{shard}.log",
    params:
        metrics=list(METRICS),
        n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.consequences),


rule probe_states:
    """Probes of the labels, from the pooled states of a model."""
    input:
        states=lambda wildcards: of_jobs(
            "consequences", [job for job in STUDY.consequence_jobs if job[0] == wildcards.model], ".states.parquet"
        ),
        shards=expand("<results>/corpus/{shard}.parquet", shard=sorted({job[3] for job in STUDY.consequence_jobs})),
    output:
        readings="<results>/consequences/{model}.parquet",
    log:
        "<logs>/consequences/{model}.log",
    conda:
        "../../envs/analysis.yaml"
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
    script:
        "../scripts/tabulate.py"
