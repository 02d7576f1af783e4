"""Count the tokens that a model will read, and describe its network, from its configuration and tokenizer alone."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from homogenization.plan.architecture import describe_architecture, resolve_configuration
from homogenization.plan.token_counts import token_counts
from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import write_table


def main(
    texts: list[str],
    weights_files: list[str],
    tokens: str,
    architecture: str,
    model: dict[str, Any],
    jobs: list[list[str]],
) -> None:
    """Count the `texts`, one table a job; `weights_files` are those of the model, where the workflow builds it."""
    built = model["weights"].get("random") is not None
    folder = str(Path(weights_files[0]).parent) if built else resolve_configuration(model["weights"])
    described = describe_architecture(folder)
    counts = token_counts(folder, model, jobs, texts)
    print(f"{described.name}: {counts['lengths'].list.sum().sum():,} tokens in {len(jobs)} jobs")
    write_table(counts, tokens)
    with written_whole(architecture) as partial:
        partial.write_text(json.dumps(asdict(described), indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(
            list(snakemake.input.texts),
            list(snakemake.input.get("weights", [])),
            snakemake.output.tokens,
            snakemake.output.architecture,
            snakemake.params.model,
            snakemake.params.jobs,
        )
