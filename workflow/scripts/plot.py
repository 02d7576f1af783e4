"""Draw a figure from its tables, with the function `draw` of a library module."""

from importlib import import_module
from pathlib import Path

from homogenization.run.job import arguments, job
from homogenization.figures.shown import Shown
from homogenization.figures.style import save_figure
from homogenization.run.files import read_csv
from homogenization.run.parquet import read_table

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    tables = {
        path.stem: read_csv(path, module.COLUMNS[path.stem]) if path.suffix == ".csv" else read_table(path)
        for path in map(Path, snakemake.input)
    }
    shown = Shown(source=snakemake.input[0], **arguments(snakemake))
    save_figure(module.draw(tables, shown), snakemake.output.svg, snakemake.output.png)
