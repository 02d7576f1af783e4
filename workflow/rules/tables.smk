# Files of variants, states and measures -> long tables over all models, variants and shards; these -> contrasts, depth,
# extrema, the first token, interventions, consequences, training, verdicts. The catalogue describes all of them.
# among parameters, files have the prefix of a module
PLACED = STUDY.model_copy(update={"results": RESULTS})

# tables are made again where any of it is edited, most of them in a second or two
TABULATED_BY = (*MEASURED_BY, "variants", "metrics", "interventions.patterns", "interventions.schemas")
TABULATED_BY += ("consequences.schemas", "tables")
FURTHER = {"tables": (), "statistics": ("statistics",), "claims": ("statistics", "claims")}


for made in TABLES:

    rule:
        """Tables of the catalogue."""
        name:
            made.name
        input:
            **read_by(made),
        output:
            *(report(file.path, **file.reported) if file.label else file.path for file in made.files),
        log:
            f"<logs>/tables/{made.name}.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            **{name: per_attempt(amount) for name, amount in made.resources(STUDY).items()},
        params:
            **made.params(PLACED),
            code=code("tabulate", *TABULATED_BY, *FURTHER[made.package]),
            module=made.module,
        script:
            "../scripts/tabulate.py"

    # what `snakemake --list-rules` says of it
    getattr(rules, made.name).rule.docstring = made.does


rule sensitivity:
    """What the metrics answer to, on made-up matrices: snakemake --cores 1 sensitivity."""
    output:
        "<results>/sensitivity.csv",
    log:
        "<logs>/sensitivity.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        n_tokens=128,
        width=256,
        seeds=8,
        seed=STUDY.seed,
        code=code("tabulate", *TABULATED_BY, "statistics"),
        module="statistics.sensitivity",
    script:
        "../scripts/tabulate.py"
