from snakemake.utils import min_version

min_version("9.27")


# A --configfile stands on its own (the models' defaults fill it up); without one the embedded experiment runs.
if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/variants.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/states.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/measures.smk"
include: "workflow/rules/interventions.smk"
include: "workflow/rules/positional.smk"
include: "workflow/rules/consequences.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/figures.smk"


from homogenization.run.display import show_stages
from homogenization.run.scheduling import lift_rate_limit

show_stages(workflow)


onstart:
    lift_rate_limit(workflow)


report: "workflow/report/workflow.rst"


rule all:
    default_target: True
    input:
        rules.make_report.output.report,
        made_in("tables"),
        FIGURES,
        over_jobs("<results>/samples/{model}/{variant}/{shard}.zarr.zip") if STUDY.states.sample_tokens else [],


# What the study will take, before anything runs on a GPU: snakemake --cores 4 plan
rule plan:
    input:
        rules.plan_extraction.output.text,
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "envs/homogenization.yaml"
    shell:
        "tee {log} < {input}"


# Targets of a stage each: snakemake --cores 4 variants
rule variants:
    input:
        expand("<results>/variants/{variant}/{shard}.parquet", variant=STUDY.variants, shard=STUDY.shards),


rule states:
    input:
        over_jobs("<results>/states/{model}/{variant}/{shard}.zarr.zip"),


rule tables:
    input:
        made_in("tables"),


rule figures:
    input:
        FIGURES,
        made_in("tables", reported=True),
