# Tables -> contrasts, depth, extrema, the first token, interventions, consequences, training, verdicts.
# Matrices of known kinds -> what the metrics answer to. The catalogue describes them.
def words(made):
    """The template of the sentences of `made`, if there are any: an edit of it makes these tables again, and no others."""
    if not made.words:
        return {}
    template = Path(workflow.source_path(f"../report/answers/{made.words}.jinja")).read_text("utf-8")
    return {"words": lambda wildcards: template}  # Snakemake takes braces in a text for wildcards


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
            **words(made),
            code=code("tabulate", made.module, *made.imports(STUDY)),
            module=made.module,
        script:
            "../scripts/tabulate.py"

    # what `snakemake --list-rules` says of it
    getattr(rules, made.name).rule.docstring = made.does
