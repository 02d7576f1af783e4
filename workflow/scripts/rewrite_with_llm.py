"""Let a language model write one variant of a shard's reviews."""

from pathlib import Path
from typing import Any

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import ScoreF1, rewrite_with_llm
from homogenization.writers.answers import RequestStore
from homogenization.writers.requests import make_writer


def main(
    shard: str,
    keyphrases: str,
    variant: str,
    candidates: str,
    writer: dict[str, Any],
    prompt: dict[str, Any],
    position: str | None,
    filters: dict[str, Any],
    encoder: dict[str, Any] | None,
    layer: int | None,
    device: str,
    batch_size: int,
    seed: int,
    connections: int,
    timeout_seconds: float,
    max_retries: int,
    requests: str | Path,
) -> None:
    """Write the reviews that were rewritten, and all candidates; answers are kept in the folder `requests`."""
    asked = make_writer(writer, seed, connections, timeout_seconds, max_retries)
    score_f1 = None if filters["min_f1"] is None else f1_scorer(encoder, layer, device, batch_size)
    rewritten, judged = rewrite_with_llm(
        read_table(shard), read_table(keyphrases), asked, RequestStore(requests), prompt, position, filters, score_f1
    )
    metadata = {"writer": asked.identity, "prompt": prompt["version"], "position": position, "seed": seed}
    write_table(judged, candidates, metadata)
    write_table(rewritten, variant, metadata)


def f1_scorer(encoder: dict[str, Any], layer: int, device: str, batch_size: int) -> ScoreF1:
    """BERTScore F1 with the encoder of `similarity`."""
    from homogenization.variants.similarity import bert_scores, load_encoder

    loaded = load_encoder(encoder, layer, device, batch_size)
    return lambda candidates, originals: bert_scores(loaded, candidates, originals)[:, 2].tolist()


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.shard,
            snakemake.input.keyphrases,
            snakemake.output.variant,
            snakemake.output.candidates,
            # how the job is placed, which is no part of the parameters
            {**snakemake.params.writer, "gpus": snakemake.resources.gpu, "threads": snakemake.threads},
            snakemake.params.prompt,
            snakemake.params.position,
            snakemake.params.filters,
            snakemake.params.encoder,
            snakemake.params.layer,
            snakemake.params.device,
            snakemake.params.batch_size,
            snakemake.params.seed,
            snakemake.resources.connections,
            snakemake.resources.request_timeout,
            snakemake.resources.request_retries,
            Path(snakemake.output.variant).parents[2] / "requests",
        )
