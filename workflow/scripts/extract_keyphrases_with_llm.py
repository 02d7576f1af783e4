"""Let a language model find the key phrases of a shard's reviews."""

from pathlib import Path
from typing import Any

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.writers.answers import RequestStore
from homogenization.writers.requests import make_writer


def main(
    shard: str,
    keyphrases: str,
    writer: dict[str, Any],
    prompt: dict[str, Any],
    max_phrases: int,
    ngram_range: list[int],
    candidates: int,
    seed: int,
    connections: int,
    timeout_seconds: float,
    max_retries: int,
    requests: str | Path,
) -> None:
    """Write one row per place of a key phrase; answers are kept in the folder `requests`."""
    asked = make_writer(writer, seed, connections, timeout_seconds, max_retries)
    found = extract_keyphrases_with_llm(
        read_table(shard), asked, RequestStore(requests), prompt, max_phrases, tuple(ngram_range), candidates
    )
    described = {"scorer": "llm", "max_phrases": max_phrases, "ngram_range": list(ngram_range)}
    write_table(found, keyphrases, {**described, "writer": asked.identity, "prompt": prompt["version"], "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.shard,
            snakemake.output.keyphrases,
            # how the job is placed, which is no part of the parameters
            {**snakemake.params.writer, "gpus": snakemake.resources.gpu, "threads": snakemake.threads},
            snakemake.params.prompt,
            snakemake.params.max_phrases,
            snakemake.params.ngram_range,
            snakemake.params.candidates,
            snakemake.params.seed,
            snakemake.resources.connections,
            snakemake.resources.request_timeout,
            snakemake.resources.request_retries,
            Path(snakemake.output.keyphrases).parents[1] / "requests",
        )
