# Tables -> contrasts, depth, extrema, the first token, interventions, consequences, training, verdicts.
# Matrices of known kinds -> what the metrics answer to. The catalogue describes them.
for made in [tables for tables in TABLES if tables.stage == "statistics"]:

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
            **({"words": template(f"answers/{made.words}.jinja")} if made.words else {}),
            code=code("tabulate", made.module, *made.imports(STUDY)),
            module=made.module,
        script:
            "../scripts/tabulate.py"

    # what `snakemake --list-rules` says of it
    getattr(rules, made.name).rule.docstring = made.does
