"""The page docs/tables.md, from the schemas of tables and the comments that describe them.

    PYTHONPATH=workflow/lib python -m homogenization.config.docs

writes it; a test fails when it differs. What stands outside of the two markers of the page is written by hand.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from homogenization.names.columns import columns, condition_columns
from homogenization.tables.catalogue import TABLES

PAGE = Path("docs/tables.md")
_MARK = "#:"
_SHARED = {columns.__name__: "COLUMNS", condition_columns.__name__: "CONDITION_COLUMNS"}
_OF_JOB = "{model}/{variant}/{shard}"
# module and name of the schema of each file that no rule of the catalogue of tables makes
_PLAN = {"plan.csv": "plan.costs.PLAN_SCHEMA", "works.csv": "plan.works.WORKS_SCHEMA"}
_FILES = {
    "plan/{model}.parquet": "plan.token_counts.TOKEN_COUNTS_SCHEMA",
    "keyphrases/{shard}.parquet": "variants.schemas.KEYPHRASE_SCHEMA",
    "variants/{variant}/{shard}.sentences.parquet": "variants.refusals.SENTENCE_SCHEMA",
    "similarity/{variant}/{shard}.parquet": "variants.schemas.SCORE_SCHEMA",
    "fluency/{variant}/{shard}.parquet": "variants.schemas.FLUENCY_SCHEMA",
    **{
        f"{measure}/{_OF_JOB}.parquet": f"measures.{measure}.{measure.upper()}_SCHEMA"
        for measure in ("spectra", "geometry", "attention", "pooled", "mauve", "sinks")
    },
    f"components/{_OF_JOB}.parquet": "measures.components.COMPONENT_STATES_SCHEMA",
    f"positional/{_OF_JOB}.parquet": "measures.positional.POSITIONAL_SUMS_SCHEMA",
    f"interventions/{_OF_JOB}.parquet": "interventions.schemas.INTERVENED_SCHEMA",
    f"interventions/{_OF_JOB}.doses.parquet": "interventions.schemas.DOSES_SCHEMA",
    f"interventions/{_OF_JOB}.slopes.parquet": "interventions.schemas.SLOPES_SCHEMA",
    f"interventions/{_OF_JOB}.attribution.parquet": "interventions.schemas.ATTRIBUTION_SCHEMA",
    "consequences/{model}/{text}/{shard}.texts.parquet": "consequences.schemas.TEXTS_SCHEMA",
    "consequences/{model}/{text}/{shard}.states.parquet": "consequences.schemas.POOLED_STATES_SCHEMA",
    "consequences/{model}.parquet": "consequences.schemas.POOLED_READINGS_SCHEMA",
    "examples/{model}.texts.parquet": "report.tokens.EXAMPLE_TEXTS_SCHEMA",
    "examples/{model}.tokens.parquet": "report.tokens.EXAMPLE_TOKENS_SCHEMA",
}


class Column(NamedTuple):
    """The type of a column, the text of its comment, and the dictionary of shared columns that has it, or ""."""

    dtype: Any
    meaning: str
    shared: str = ""


@cache
def described(name: str) -> dict[str, Column]:
    """The columns of a schema, a dotted name below `homogenization` such as `tables.mauve.MAUVE_SUMMARY_SCHEMA`.

    Raises:
        ValueError: a column has no meaning, or there is no such schema.
    """
    module, node, lines = _assigned(name)
    found: dict[str, Column] = {}
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else [(None, node)]:
        entry = ast.unparse(value if key is None else ast.Dict([key], [value]))
        added = eval(entry, vars(import_module(f"homogenization.{module}")))
        behind = lines[value.end_lineno - 1].partition(_MARK)[2].strip()
        # what stands above the first line is said of the whole
        if meaning := behind or (_above(lines, value) if value.lineno > node.lineno else ""):
            found |= {column: Column(dtype, meaning) for column, dtype in added.items()}
        elif key is None and isinstance(value, ast.Name):
            found |= described(f"{module}.{value.id}")
        elif key is None and isinstance(value, ast.Call) and (shared := _SHARED.get(getattr(value.func, "id", ""))):
            every = described(f"names.columns.{shared}")
            found |= {column: every[column]._replace(shared=shared) for column in added}
        else:
            hint = f"write it as a comment `{_MARK} …` of the column"
            raise ValueError(f"{name}: {', '.join(added)} has no meaning; {hint}")
    return found


def row(name: str) -> str:
    """What a row of the schema of a dotted name is; "" where no comment says it. No module is imported.

    Raises:
        ValueError: there is no such schema.
    """
    _, node, lines = _assigned(name)
    return _above(lines, node)


@cache
def _parsed(module: str) -> tuple[list[ast.stmt], list[str]]:
    """The statements and the lines of a module, which is not run for that: many import torch."""
    text = Path(find_spec(f"homogenization.{module}").origin).read_text(encoding="utf-8")
    return ast.parse(text).body, text.splitlines()


def _assigned(name: str) -> tuple[str, Any, list[str]]:
    """The module in which a dotted name is assigned, to what, and its lines."""
    module, _, variable = name.rpartition(".")
    statements, lines = _parsed(module)
    for node in statements:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == variable:
            return module, node.value, lines
        if isinstance(node, ast.ImportFrom) and variable in [alias.name for alias in node.names]:
            return _assigned(f"{node.module.removeprefix('homogenization.')}.{variable}")
    raise ValueError(f"homogenization.{module} has no {variable}")


def _above(lines: list[str], node: ast.expr) -> str:
    """The comments on the lines above the first line of an expression."""
    before = takewhile(lambda line: line.startswith(_MARK), map(str.strip, reversed(lines[: node.lineno - 1])))
    return " ".join(reversed([line.removeprefix(_MARK).strip() for line in before]))


def tables_made() -> dict[str, tuple[str, str]]:
    """File -> rule that makes it and dotted name of its schema, of every table in results/tables that has a schema.

    Of a table that is written twice, the first file counts.
    """
    made: dict[tuple[str, str], str] = {}
    for rule, tables in TABLES.items():
        _, schemas, _ = _assigned(f"{tables.module}.SCHEMAS")
        for file, schema in zip(tables.files, schemas.elts, strict=True):
            if isinstance(schema, ast.Name):
                made.setdefault((rule, f"{tables.module}.{schema.id}"), file.name)
    return {file: about for about, file in made.items()}


def made_anew(page: str, part: str, content: str) -> str:
    """`page` with `content` between the two markers of a part."""
    begin, end = (f"<!-- {part}: {place} -->" for place in ("begin", "end"))
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{content}\n{end}{after}"


def tables_page(page: str) -> str:
    """`page` with what stands between the two markers made anew."""
    shared = [f"names.columns.{name}" for name in _SHARED.values()]
    blocks = [f"## {row(part)}\n\n{_list(part)}" for part in shared]
    blocks.append("## Tables of a study: `tables/`")
    blocks += [_section(file, schema, f" Made by `{rule}`.") for file, (rule, schema) in tables_made().items()]
    blocks += ["## The plan: `plan/`", *(_section(file, schema) for file, schema in _PLAN.items())]
    rows = [f"| `{file}` | {row(schema)} | {'; '.join(_in_words(schema))} |" for file, schema in _FILES.items()]
    blocks.append("\n".join(["## Files of jobs\n", "| file | rows | columns |", "| --- | --- | --- |", *rows]))
    return made_anew(page, "tables", "\n\n".join(blocks) + "\n")


def _section(file: str, schema: str, rule: str = "") -> str:
    return f"### `{file}`\n\n{row(schema)}{rule}\n\n{_list(schema)}"


def _list(schema: str) -> str:
    return "\n".join(f"- {told}" for told in _in_words(schema))


def _in_words(schema: str) -> Iterator[str]:
    """For each meaning the names of columns with their type; for shared columns that follow each other, their names."""
    # the meaning of a shared column stands with all of them
    told = groupby(described(schema).items(), key=lambda item: (item[1].shared, item[1].shared or item[1].meaning))
    for (shared, meaning), part in told:
        types = {name: str(column.dtype) for name, column in part}
        names = ", ".join(f"`{name}`" for name in types)
        if shared:
            heading = row(f"names.columns.{shared}").lower().replace(" ", "-")
            yield f"{names}: [above](#{heading})"
        else:
            yield f"{names} ({', '.join(dict.fromkeys(types.values()))}): {meaning}"
