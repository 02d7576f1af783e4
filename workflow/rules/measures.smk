# States -> singular values, geometry, received attention, pooled tokens, MAUVE.
# Variants, by another pass through a model -> how alike tokens are at each point of each block.

from homogenization.measures.catalogue import made_measures

# a new metric is computed of what is measured, and measures nothing again
MEASURED_BY = (*READ_BY, "measures", "metrics.cosines", "metrics.gram", "metrics.registry")

for measure in made_measures(STUDY):

    rule:
        """A measure of the catalogue."""
        name:
            f"compute_{measure.name}"
        input:
            states=STORE,
        output:
            *(f"<results>/{path}" for path in measure.paths),
        log:
            f"<logs>/{measure.name}/{{model}}/{{variant}}/{{shard}}.log",
        # next, so that states that are not kept go soon
        priority: 0 if STUDY.states.keep else 1
        conda:
            "../../envs/homogenization.yaml"
        resources:
            **({"runtime": per_attempt(measure.minutes)} if measure.minutes else {}),
            states=0 if STUDY.states.keep else 1,
        params:
            **measure.params(STUDY),
            **({} if STUDY.states.keep else {"made_with": params_of(EXTRACTED_WITH)}),
            code=code("measure", *MEASURED_BY),
            module=f"measures.{measure.name}",
        script:
            "../scripts/measure.py"

    getattr(rules, f"compute_{measure.name}").rule.docstring = measure.does


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
