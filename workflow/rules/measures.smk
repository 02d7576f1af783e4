# States -> singular values, geometry, received attention, pooled tokens, MAUVE; the first two of a common number of tokens.
# Where states are not kept, a job measures them while its model reads.
# Variants, by another pass through a model -> how alike tokens are at each point of each block.

from homogenization.measures.catalogue import made_measures, taken_of

# a new metric is computed of what is measured, and measures nothing again
MEASURED_BY = (*READ_BY, "measures", "metrics.cosines", "metrics.gram", "metrics.registry")

for measure in [] if IN_PASS else made_measures(STUDY):

    rule:
        """A measure of the catalogue."""
        name:
            f"compute_{measure.name}"
        input:
            states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
        output:
            *(f"<results>/{path}" for path in measure.paths),
        log:
            f"<logs>/{measure.name}/{{model}}/{{variant}}/{{shard}}.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            **({"runtime": per_attempt(measure.minutes)} if measure.minutes else {}),
        params:
            **measure.params(STUDY),
            code=code("measure", *MEASURED_BY),
            module=f"measures.{measure.name}",
        script:
            "../scripts/measure.py"

    getattr(rules, f"compute_{measure.name}").rule.docstring = measure.does


if IN_PASS:

    rule measure_states:
        """Runs a model over one shard of a variant and measures its states while it reads; it stores none."""
        input:
            **READ_FILES,
        output:
            **{measure.name: [f"<results>/{path}" for path in measure.paths] for measure in made_measures(STUDY)},
            run="<results>/states/{model}/{variant}/{shard}.json",
            sample="<results>/samples/{model}/{variant}/{shard}.zarr.zip" if STUDY.states.sample_tokens else [],
        log:
            "<logs>/states/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        # beside a GPU, all but one measure what has been read
        threads: lambda wildcards: {"cpu": 1, "mps": 2}.get(model_of(wildcards).device, 16)
        resources:
            mem_mb=per_attempt(
                lambda wildcards: ask.measuring_memory(model_of(wildcards), STUDY.mauve.n_tokens * STUDY.mauve.seeds)
            ),
            runtime=per_attempt(lambda wildcards: ask.measuring_runtime(model_of(wildcards), STUDY.corpus.shard_size)),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            **READ_PARAMS,
            code=code("measure_states", *MEASURED_BY),
            storage=STUDY.states.params("dtype", "layers", "record_attention"),
            measures=lambda wildcards: taken_of(STUDY, wildcards.variant),
            sample=[STUDY.states.sample_tokens, STUDY.seed, STUDY.states.chunk_tokens],
        script:
            "../scripts/measure_states.py"


if STUDY.component_jobs:

    rule extract_components:
        """Runs reviews through a model and measures how alike their tokens are at every point of every block."""
        input:
            **READ_FILES,
        output:
            components="<results>/components/{model}/{variant}/{shard}.parquet",
        log:
            "<logs>/components/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1, "mps": 2}.get(model_of(wildcards).device, 8)
        resources:
            **EXTRACTION,
        params:
            **READ_PARAMS,
            code=code("extract_components", *MEASURED_BY),
        script:
            "../scripts/extract_components.py"
