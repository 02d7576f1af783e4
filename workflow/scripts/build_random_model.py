"""Build a model with random weights, and a tokenizer trained on the corpus."""

from pathlib import Path
from typing import Any

from homogenization.models.untrained import build_random_model
from homogenization.run.files import read_table
from homogenization.run.job import logged


def main(corpus: str, config: str, random: dict[str, Any], seed: int, vocab_size: int) -> None:
    """Save the model of the configuration `random` in the folder of the file `config`."""
    texts = read_table(corpus)["text"].to_list()
    build_random_model(random, seed, texts, vocab_size, Path(config).parent)


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.corpus,  # noqa: F821
            snakemake.output.config,  # noqa: F821
            snakemake.params.random,  # noqa: F821
            snakemake.params.seed,  # noqa: F821
            snakemake.params.vocab_size,  # noqa: F821
        )
