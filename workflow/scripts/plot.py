"""Draw figures one after the other, from their tables, with functions of library modules."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.figures.drawing import draw_figure, save_figure
from homogenization.figures.shown import Shown
from homogenization.run.parquet import read_input

with job(snakemake):
    outputs = iter(snakemake.output)
    for name, figure in arguments(snakemake).items():
        module = import_module(f"homogenization.figures.{figure['module']}")
        columns = getattr(module, "COLUMNS", {})
        tables = {table: read_input(snakemake.input[table], columns.get(table)) for table in figure["tables"]}
        for own in figure["each"]:
            shown = Shown(source=snakemake.input[figure["tables"][0]], **figure["shared"] | own)
            drawn = draw_figure(getattr(module, name), tables, shown)
            save_figure(drawn, next(outputs), next(outputs), style=shown.style)
