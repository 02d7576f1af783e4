"""The page docs/tables.md, from the schemas of tables and the comments that describe them.

    PYTHONPATH=workflow/lib python -m homogenization.config.docs

writes it; a test fails when it differs. What stands outside of the two markers of the page is written by hand.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from homogenization.names.columns import columns, condition_columns
from homogenization.tables.catalogue import TABLES

PAGE = Path("docs/tables.md")
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_MARK = "#:"
_SHARED = {columns.__name__: "COLUMNS", condition_columns.__name__: "CONDITION_COLUMNS"}
_OF_JOB = "{model}/{variant}/{shard}"
# module and name of the schema of each file that no rule of the catalogue of tables makes
_PLAN = {
    "plan.csv": "plan.costs.PLAN_SCHEMA",
    "works.csv": "plan.works.WORKS_SCHEMA",
}
_FILES = {
    "plan/{model}.parquet": "plan.token_counts.TOKEN_COUNTS_SCHEMA",
    "keyphrases/{shard}.parquet": "variants.schemas.KEYPHRASE_SCHEMA",
    "variants/{variant}/{shard}.sentences.parquet": "variants.refusals.SENTENCE_SCHEMA",
    "similarity/{variant}/{shard}.parquet": "variants.schemas.SCORE_SCHEMA",
    "fluency/{variant}/{shard}.parquet": "variants.schemas.FLUENCY_SCHEMA",
    f"spectra/{_OF_JOB}.parquet": "measures.spectra.SPECTRA_SCHEMA",
    f"geometry/{_OF_JOB}.parquet": "measures.geometry.GEOMETRY_SCHEMA",
    f"attention/{_OF_JOB}.parquet": "measures.attention.ATTENTION_SCHEMA",
    f"pooled/{_OF_JOB}.parquet": "measures.pooled.POOLED_SCHEMA",
    f"mauve/{_OF_JOB}.parquet": "measures.mauve.MAUVE_SCHEMA",
    f"sinks/{_OF_JOB}.parquet": "measures.sinks.SINKS_SCHEMA",
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


class Columns(NamedTuple):
    """Columns of a schema with one meaning.

    Attributes:
        schema: the columns and their types.
        meaning: text of their comment.
        shared: name of the dictionary of shared columns that they are taken from; "" for the schema's own.
    """

    schema: Mapping[str, Any]
    meaning: str
    shared: str = ""


class Described(NamedTuple):
    """A schema in words: what a row is, and its columns in their order."""

    row: str
    columns: list[Columns]


def described(name: str) -> Described:
    """The schema of a dotted name below `homogenization`, such as `tables.mauve.MAUVE_SUMMARY_SCHEMA`.

    Raises:
        ValueError: a column has no meaning, or there is no such schema.
    """
    module, variable = _home(*name.rsplit(".", 1))
    source = _source(module)
    node = source.assigned[variable]
    found = []
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else [(None, node)]:
        added = _evaluated(value if key is None else ast.Dict([key], [value]), module)
        # what stands above the first line is said of the whole
        if meaning := source.behind(value) or (source.above(value) if value.lineno > node.lineno else ""):
            found.append(Columns(added, meaning))
        elif key is None and isinstance(value, ast.Name):
            found += described(f"{module}.{value.id}").columns
        elif key is None and isinstance(value, ast.Call) and getattr(value.func, "id", "") in _SHARED:
            found += [Columns({name: dtype}, "", _SHARED[value.func.id]) for name, dtype in added.items()]
        else:
            hint = f"write it as a comment `{_MARK} …` of the column"
            raise ValueError(f"{module}.{variable}: {', '.join(added)} has no meaning; {hint}")
    return Described(row(name), found)


def row(name: str) -> str:
    """What a row of the schema of a dotted name is; "" where no comment says it. No module is imported.

    Raises:
        ValueError: there is no such schema.
    """
    module, variable = _home(*name.rsplit(".", 1))
    return _source(module).above(_source(module).assigned[variable])


class _Source(NamedTuple):
    """What is read of a module.

    Attributes:
        assigned: expressions by the name that they are assigned to.
        imported: modules by the name that is imported from them.
        lines: its lines.
    """

    assigned: dict[str, ast.expr]
    imported: dict[str, str]
    lines: list[str]

    def behind(self, node: ast.expr) -> str:
        """The comment on the last line of an expression."""
        return self.lines[int(node.end_lineno or 0) - 1].partition(_MARK)[2].strip()

    def above(self, node: ast.expr) -> str:
        """The comments on the lines above the first line of an expression."""
        before = map(str.strip, reversed(self.lines[: node.lineno - 1]))
        comments = takewhile(lambda line: line.startswith(_MARK), before)
        return " ".join(reversed([line.removeprefix(_MARK).strip() for line in comments]))


@cache
def _source(module: str) -> _Source:
    spec = find_spec(f"homogenization.{module}")  # a module is not run to be read: many import torch
    text = Path(str(spec and spec.origin)).read_text(encoding="utf-8")
    source = _Source({}, {}, text.splitlines())
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            source.assigned[node.targets[0].id] = node.value
        elif isinstance(node, ast.ImportFrom):
            source.imported.update({alias.name: str(node.module) for alias in node.names})
    return source


def _home(module: str, variable: str) -> tuple[str, str]:
    """The module in which a variable is assigned, and its name."""
    source = _source(module)
    if variable in source.assigned:
        return module, variable
    if variable not in source.imported:
        raise ValueError(f"homogenization.{module} has no {variable}")
    return _home(source.imported[variable].removeprefix("homogenization."), variable)


def _evaluated(expression: ast.expr, module: str) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(expression)), module, "eval")
    return eval(code, vars(import_module(f"homogenization.{module}")))


def tables_made() -> dict[str, tuple[str, str]]:
    """File -> rule that makes it and dotted name of its schema, of every table in results/tables that has a schema.

    Of a table that is written twice, the first file counts.
    """
    made: dict[tuple[str, str], str] = {}
    for rule, tables in TABLES.items():
        schemas = _source(tables.module).assigned["SCHEMAS"].elts
        for file, schema in zip(tables.files, schemas, strict=True):
            if isinstance(schema, ast.Name):
                made.setdefault((rule, f"{tables.module}.{schema.id}"), file.name)
    return {file: about for about, file in made.items()}


def tables_page(page: str) -> str:
    """`page` with what stands between the two markers made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    shared = [described(f"names.columns.{name}") for name in _SHARED.values()]
    blocks = [f"## {part.row}\n\n{_list(part)}" for part in shared]
    blocks.append("## Tables of a study: `tables/`")
    blocks += [_section(file, schema, f" Made by `{rule}`.") for file, (rule, schema) in tables_made().items()]
    blocks += ["## The plan: `plan/`", *(_section(file, schema) for file, schema in _PLAN.items())]
    blocks.append("## Files of jobs\n\n| file | rows | columns |\n| --- | --- | --- |")
    blocks[-1] += "".join(_cells(file, described(schema)) for file, schema in _FILES.items())
    return f"{before}{BEGIN}\n\n" + "\n\n".join(blocks) + f"\n\n{END}{after}"


def _section(file: str, schema: str, rule: str = "") -> str:
    table = described(schema)
    return f"### `{file}`\n\n{table.row}{rule}\n\n{_list(table)}"


def _list(table: Described) -> str:
    """A line for each meaning, and one for shared columns that follow each other."""
    return "\n".join(f"- {told}" for told in _in_words(table))


def _cells(file: str, table: Described) -> str:
    return f"\n| `{file}` | {table.row} | {'; '.join(_in_words(table))} |"


def _in_words(table: Described) -> Iterator[str]:
    """Names of columns with their type, and what they mean; shared columns by name alone."""
    for shared, parts in groupby(table.columns, key=lambda part: part.shared):
        if shared:
            heading = row(f"names.columns.{shared}")
            names = [name for part in parts for name in part.schema]
            yield f"{_names(names)}: [above](#{heading.lower().replace(' ', '-')})"
        else:
            for part in parts:
                types = dict.fromkeys(map(str, part.schema.values()))
                yield f"{_names(part.schema)} ({', '.join(types)}): {part.meaning}"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in columns)
