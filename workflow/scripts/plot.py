"""Draw a figure, or all figures of a kind, from their tables with a function of a library module."""

from importlib import import_module
from itertools import groupby
from pathlib import Path

from homogenization.run.job import arguments, job
from homogenization.figures.drawing import draw_figure, save_figure
from homogenization.figures.shown import Shown
from homogenization.run.parquet import read_input

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    columns = getattr(module, "COLUMNS", {})
    tables = {Path(file).stem: read_input(file, columns.get(Path(file).stem)) for file in snakemake.input}
    fields = arguments(snakemake)
    draw = getattr(module, fields.pop("figure"))
    fields.pop("kind", None)  # for the caption: the titles of the figures of a kind contain it
    each = fields.pop("each", {"": {}}).values()
    formats = [list(files) for _, files in groupby(snakemake.output, lambda file: Path(file).with_suffix(""))]
    for of_figure, files in zip(each, formats, strict=True):
        shown = Shown(source=snakemake.input[0], **fields | of_figure)
        save_figure(draw_figure(draw, tables, shown), *files, style=shown.style)
