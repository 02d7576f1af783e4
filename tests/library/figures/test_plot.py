"""The script that draws every figure: tables in, two files out, nothing of an empty table."""

import polars as pl
import pytest

from drawings import MODELS, VARIANTS
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.drawing import save_figure
from homogenization.run.parquet import read_table, write_table
from library.figures.example_tables import attention_table, summary_table
from library.figures.examples import figure_of
from script import ScriptError, run_script


def plot(table, figure, *others, files=("figure",), each=None, **shared):
    """Draw `figure` beside the file `table`, with further tables `others`, as its rule does."""
    told = {"module": FIGURES[figure].module, "tables": [path.stem for path in (table, *others)]}
    folder = table.parent
    run_script(
        "plot",
        folder / "log.txt",
        input={path.stem: str(path) for path in (table, *others)},
        output={f"{file}.{suffix}": str(folder / f"{file}.{suffix}") for file in files for suffix in ("svg", "pdf")},
        params={"code": "0", figure: told | {"shared": shared, "each": each or [{"title": "T"}]}},
    )


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_writes_the_drawing_of_the_module_in_both_formats(tmp_path):
    table = attention_table({"alpha": 2})
    write_table(table, tmp_path / "attention.parquet")
    plot(tmp_path / "attention.parquet", "attention_heatmap", variants=VARIANTS, models=MODELS[:1])
    own = tmp_path / "own.svg", tmp_path / "own.pdf"
    save_figure(figure_of("attention_heatmap", table, models=MODELS[:1]), *own)
    for suffix, path in zip(("svg", "pdf"), own, strict=True):
        assert (tmp_path / f"figure.{suffix}").read_bytes() == path.read_bytes()


def test_the_figures_of_a_kind_are_drawn_in_one_job_each_with_its_own_fields(tmp_path):
    table = tmp_path / "summary.parquet"
    write_table(
        pl.concat([summary_table(metric, ("raw",)) for metric in ("participation_ratio", "effective_rank")]), table
    )
    each = {
        name: {"metric": name, "title": f"The {name}", "label": name}
        for name in ("participation_ratio", "effective_rank")
    }
    shared = {"variants": VARIANTS, "models": MODELS, "views": ["raw"]}
    plot(table, "metric", files=list(each), each=list(each.values()), **shared)
    for name, own in each.items():
        save_figure(figure_of("metric", read_table(table), **shared | own), tmp_path / "own.svg")
        assert (tmp_path / f"{name}.svg").read_bytes() == (tmp_path / "own.svg").read_bytes()
        assert (tmp_path / f"{name}.pdf").exists()


def test_a_table_without_the_rows_is_named_in_the_log_and_nothing_is_written(tmp_path):
    path = tmp_path / "attention.parquet"
    write_table(attention_table({"alpha": 2}), path)
    with pytest.raises(ScriptError, match="no rows for attention received; the table holds alpha") as refused:
        plot(path, "attention_heatmap", variants=VARIANTS, models=[["gamma", "G"]])
    assert f"{path}: no rows" in str(refused.value)
    assert files_in(tmp_path) == ["attention.parquet", "log.txt"]
