"""Draw figures one after the other, each as SVG and PDF, with functions of library modules."""

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
    outputs = iter(snakemake.output)
    for function, own in snakemake.params.figures:
        module, _, name = function.partition(".")
        draw = getattr(import_module(f"homogenization.figures.{module}"), name)
        save_figure(draw(tables, Shown(**snakemake.params.shown | own)), next(outputs), next(outputs))
