"""Draw figures one after the other, each as SVG and perhaps as PDF, with functions of library modules."""

from importlib import import_module

from homogenization.run.job import job
from homogenization.figures.grammar import Shown, save_figure
from homogenization.figures.style import house_style
from homogenization.run.parquet import read_input
from homogenization.tables.balance import BALANCE_SCHEMA
from homogenization.tables.intervened import DOSE_MEANS_SCHEMA

OF_CSV = {"balance": BALANCE_SCHEMA, "doses": DOSE_MEANS_SCHEMA}

with job(snakemake), house_style(snakemake.params.style):
    tables = {name: read_input(files, OF_CSV.get(name)) for name, files in snakemake.input.items()}
    n_files = len(snakemake.output) // len(snakemake.params.figures)
    for place, (function, own) in enumerate(snakemake.params.figures):
        module, _, name = function.partition(".")
        draw = getattr(import_module(f"homogenization.figures.{module}"), name)
        files = snakemake.output[place * n_files : (place + 1) * n_files]
        save_figure(draw(tables, Shown(**snakemake.params.shown | own)), *files)
