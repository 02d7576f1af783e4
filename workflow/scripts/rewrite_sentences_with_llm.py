"""Let a language model write one variant of a shard's reviews, sentence by sentence."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.fluency import load_reader
from homogenization.variants.sentence_rewriting import rewrite_sentences, sentence_loss
from homogenization.variants.similarity import f1_scorer, load_encoder
from homogenization.writers.answers import RequestStore
from homogenization.writers.backends import make_writer

with job(snakemake):
    params, resources = snakemake.params, snakemake.resources
    reviews = read_table(snakemake.input.shard)
    means = {name: resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(params.writer, snakemake.input.get("weights", []))
    writer = make_writer(params.module, entry, params.seed, gpus=resources.gpu, **means)
    store = RequestStore(Path(snakemake.output.variant).parents[2] / "requests")
    encoder = with_built_weights(params.encoder, snakemake.input.get("encoder", []), key="encoder")
    reader = params.reader and with_built_weights(params.reader, snakemake.input.get("reader", []))
    rewritten, candidates, sentences = rewrite_sentences(
        reviews,
        read_table(snakemake.input.keyphrases),
        read_table(snakemake.input.parse),
        params.variant,
        writer,
        store,
        params.prompt,
        params.position,
        params.filters,
        f1_scorer(load_encoder(**encoder)),
        sentence_loss(load_reader(reader, resources.gpu)) if reader else None,
    )
    metadata = {"writer": writer.identity, "prompt": params.prompt["version"]}
    metadata |= {"position": params.position, "unit": "sentence", "seed": params.seed}
    write_table(sentences, snakemake.output.sentences, metadata)
    write_table(candidates, snakemake.output.candidates, metadata)
    write_table(rewritten, snakemake.output.variant, metadata)
