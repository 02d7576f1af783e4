"""MAUVE between consecutive layers of the states of one model, variant and shard, with its split-half null."""

from homogenization.run.job import job
from homogenization.measures.mauve import mauve_table
from homogenization.measures.reviews import provenance
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    chosen = {name: snakemake.params[name] for name in ("n_tokens", "seeds", "scale")}
    write_table(mauve_table(store, **chosen), snakemake.output.mauve, {"states": provenance(store), **chosen})
