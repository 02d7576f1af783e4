"""The numbers in tables of the gallery are those of contrasts.csv, where the full digits of their studies lie."""

import re

import polars as pl
import pytest

from pages import DOCS

RANK, MEV, ATTENTION = "normalized_effective_rank", "max_explainable_variance", "first_token_attention_excess"
FRONT_END = {"variant": "front-natural", "minus": "end-natural"}
FIVE = ("smollm2", "smollm2-bos", "gemma", "qwen05", "qwen05-bos")
SAME = "first word is the same"

# page, words before the table, what its cells have: all, those of a row by how it begins, those of a column
TABLES = {
    "single sentences": (
        "constructions",
        "holds all numbers.",
        {"study": "constructions", "statistic": "mean difference", "metric": RANK, "layers": "output"} | FRONT_END,
        {
            "rank, over all layers": {"sentences": "all", "layers": "all"},
            "rank at the output |": {"sentences": "all"},
            "MEV, over all layers": {"sentences": "all", "metric": MEV, "layers": "all"},
            "MEV at the output": {"sentences": "all", "metric": MEV},
            "excess attention": {"sentences": "all", "metric": ATTENTION, "view": "all_tokens", "layers": "all"},
            "begin with the same word": {"sentences": SAME},
            "have as many tokens": {"sentences": "as many tokens and commas"},
            "have more commas": {"sentences": "Front has more commas"},
            "are the original in Front": {"sentences": "Front is the original"},
            "are the original in End": {"sentences": "End is the original"},
            "move a key phrase": {"sentences": "adjunct holds a key phrase"},
            "move an adjunct without": {"sentences": "adjunct holds none"},
            "1 adjunct moves": {"study": "constructions-dose", "sentences": "1 move in a text"},
            "2 move": {"study": "constructions-dose", "sentences": "2 move in a text"},
            "4 move": {"study": "constructions-dose", "sentences": "4 move in a text"},
        },
        [{"model": model} for model in FIVE],
    ),
    "whole reviews": (
        "constructions",
        "Normalised effective rank, Front minus End:",
        {"study": "constructions-reviews", "metric": RANK, "layers": "output"} | FRONT_END,
        {
            "183 reviews, at": {"sentences": "all"},
            "183 reviews, over": {"sentences": "all", "layers": "all"},
            "first word the same: 173, at": {"sentences": SAME},
            "first word the same: 173, over": {"sentences": SAME, "layers": "all"},
            "and more commas in Front": {"sentences": f"{SAME}, Front has more commas"},
            "and as many tokens and commas: 48 or 49, at": {"sentences": f"{SAME}, as many tokens and commas"},
            "and as many tokens and commas: 48 or 49, over": {
                "sentences": f"{SAME}, as many tokens and commas",
                "layers": "all",
            },
        },
        [{"model": model} for model in FIVE[1:]],
    ),
    "two hundred reviews by rule": (
        "families",
        "and so did untrained networks with the width and heads of each family and 6 blocks:",
        {"study": "families", "sentences": "all", "metric": RANK, "layers": "output"},
        {
            "SmolLM2 |": {"model": "smollm2"},
            "SmolLM2, with BOS": {"model": "smollm2-bos"},
            "Gemma 3 (": {"model": "gemma"},
            "Qwen2.5-0.5B |": {"model": "qwen05"},
            "Qwen2.5-0.5B, with BOS": {"model": "qwen05-bos"},
            "Llama, untrained": {"model": "llama-untrained"},
            "Gemma 3, untrained": {"model": "gemma-untrained"},
            "Qwen2, untrained": {"model": "qwen-untrained"},
        },
        [
            {"variant": "front", "minus": "original"},
            {"variant": "front-inward", "minus": "original"},
            {"variant": "front", "minus": "front-inward"},
            {"variant": "end", "minus": "original"},
            {"variant": "end", "minus": "end-inward"},
        ],
    ),
}


def cells_of(page: str, before: str) -> list[tuple[str, list[str]]]:
    """The first cell of each row of the table after the words `before`, and the others."""
    table = page.split(before, 1)[1].strip().split("\n\n")[0].splitlines()
    rows = [line.strip("| ").replace("**", "").split(" | ") for line in table[2:]]
    return [(f"{first} |", cells) for first, *cells in rows]


@pytest.mark.parametrize("name", TABLES)
def test_the_numbers_of_a_table_are_those_of_the_file(name):
    page, before, everywhere, rows, columns = TABLES[name]
    numbers = pl.read_csv(DOCS / "gallery/contrasts.csv", infer_schema_length=None)
    seen = set()
    for first, cells in cells_of((DOCS / f"gallery/{page}.md").read_text("utf-8"), before):
        for start in rows.keys() & {start for start in rows if first.startswith(start)}:
            seen.add(start)
            for column, cell in zip(columns, cells, strict=False):
                shown = re.findall(r"[+−]?\d*\.\d+", cell)
                asked = {"view": "raw"} | everywhere | rows[start] | column
                [row] = numbers.filter(**asked).iter_rows(named=True) if shown else [None]
                for text, key in zip(shown, ("estimate", "ci_low", "ci_high"), strict=False):
                    digits = len(text.partition(".")[2])
                    apart = abs(float(text.replace("−", "-")) - row[key])
                    assert apart <= 0.5001 * 10**-digits, f"{first} {column}: {text}, not {row[key]}"
    assert seen == set(rows)
