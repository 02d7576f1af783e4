# The workflow stands in workflow/Snakefile, where the Snakemake workflow catalog and snakedeploy look for it.
include: "workflow/Snakefile"


# Snakemake takes no default target from a file that it includes.
workflow.default_target = "all"
