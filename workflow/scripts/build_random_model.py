"""Build a model with random weights, and a tokenizer trained on the corpus."""

from pathlib import Path
from typing import Any

from homogenization.models.untrained import build_random_model
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(corpus: str, config: str, random: dict[str, Any], seed: int, vocab_size: int) -> None:
    """Save the model of the configuration `random` in the folder of the file `config`."""
    texts = read_table(corpus)["text"].to_list()
    build_random_model(random, seed, texts, vocab_size, Path(config).parent)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.corpus,
            snakemake.output.config,
            snakemake.params.random,
            snakemake.params.seed,
            snakemake.params.vocab_size,
        )
