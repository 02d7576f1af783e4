"""Run a model over one shard of a variant, and measure what its tokens become with a module of the library."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.models.network import model_of_job
from homogenization.run.parquet import write_table
from homogenization.states.texts import Texts

with job(snakemake):
    chosen = arguments(snakemake)
    identity = {"model": chosen.pop("model")["name"], "variant": chosen.pop("variant"), "shard": chosen.pop("shard")}
    texts = Texts.of_files(snakemake.input.variant, snakemake.input.original, chosen.pop("n_reviews", None))
    module = import_module(f"homogenization.{snakemake.params.module}")
    tables, metadata = module.measure(model_of_job(snakemake), texts, identity, **chosen)
    for name, path in snakemake.output.items():
        write_table(tables[name], path, metadata)
