"""Run a model over one shard of a variant and measure its tokens at every point of every block."""

from homogenization.run.job import job
from homogenization.measures.components import component_states
from homogenization.run.parquet import write_table
from homogenization.states.model import model_of_job
from homogenization.states.reading import Reading

with job(snakemake):
    model = model_of_job(snakemake)
    reading = Reading.of_job(model, snakemake.input, snakemake.params, record_attention=False)
    table, metadata = component_states(reading)
    write_table(table, snakemake.output.components, metadata)
