"""Tabulate what extraction will take, for each model and in all."""

from typing import Any

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.run.files import read_json, written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    tokens: list[str],
    architectures: list[str],
    plan: str,
    text: str,
    models: list[dict[str, Any]],
    states: dict[str, Any],
) -> None:
    """Write the plan as a table and as text; `tokens` and `architectures` are files of `models`, in their order."""
    rows = [
        plan_row(model, Architecture(**read_json(architecture)), read_table(counts), states)
        for model, architecture, counts in zip(models, architectures, tokens, strict=True)
    ]
    table = plan_table(rows)
    print(plan_text(table))
    with written_whole(plan) as partial:
        table.write_csv(partial)
    with written_whole(text) as partial:
        partial.write_text(plan_text(table), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(
            list(snakemake.input.tokens),
            list(snakemake.input.architectures),
            snakemake.output.plan,
            snakemake.output.text,
            snakemake.params.models,
            snakemake.params.states,
        )
