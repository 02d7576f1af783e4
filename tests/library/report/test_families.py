"""Sentences from the tables of SmolLM2, MiniLM, Gemma 3 and Qwen2.5 (tests/data/families), against these tables."""

import re
from dataclasses import replace

import polars as pl
import pytest
from homogenization.figures.claims import _cell

from conftest import ROOT
from homogenization.claims.findings import ATTENTION, Finding
from homogenization.claims.verdicts import verdicts_table
from homogenization.names.numbers import share_of_range, significant
from homogenization.names.prose import write
from homogenization.report.first_page import first_page
from homogenization.report.questions import moves_of, questions_of
from homogenization.statistics.blocks import ANSWERED, peaks_table
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from homogenization.tables.extraction import LONG_TEXTS_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA
from homogenization.tables.summary import SUMMARY_SCHEMA
from library.statistics.shared import words_of

FOLDER = ROOT / "tests" / "data" / "families"
TABLES = {file.stem: pl.read_parquet(file) for file in sorted(FOLDER.glob("*.parquet"))}
MODELS = ["minilm", "smollm2", "gemma", "qwen05"]
CONTROLS = {"front": {"edge": "front-inward", "key": "front-other"}, "end": {"edge": "end-inward"}}
VARIANTS = ["original", "front", "front-inward", "end", "end-inward", "front-other"]
MEV, COSINE = "max_explainable_variance", "cosine_anisotropy"
NAMES = {"MEV": (MEV, "raw"), "The mean cosine": (COSINE, "all_tokens")}


def number(written):
    return float(written.replace("−", "-").replace("e-", "e-"))


@pytest.mark.parametrize("model", MODELS)
def test_an_extremum_is_called_what_it_is(model):
    extrema, blocks = TABLES["extrema"], TABLES["extrema_blocks"]
    said = dict(peaks_table(extrema, blocks, MODELS, ANSWERED, words_of("peaks")).rows())[model]
    assert not re.search(r"\b(highest|deepest|largest|lowest|greatest)\b", said)
    of_metrics = re.split(r"(?=\bMEV has|\bThe mean cosine has)", said)[1:]
    assert len(of_metrics) == len(NAMES)
    for part in of_metrics:
        metric, view = next(cell for name, cell in NAMES.items() if part.startswith(name))
        rows = extrema.filter(model=model, metric=metric, view=view)
        described = re.findall(
            r"Its most prominent (peak|trough) is after block (\d+) .*?, at ([\d.]+) (.*?)[.;] ", part
        )
        assert {kind for kind, *_ in described} == set(rows.filter("settled")["kind"])
        for kind, layer, height, rest in described:
            alike = rows.filter(kind=kind)
            assert int(layer) == alike.filter("settled").sort("prominence")["layer"][-1]
            row = alike.filter(layer=int(layer)).row(0, named=True)
            assert height == significant(row["height"])
            assert (" texts)" in rest) == (row["n_reviews"] < 16)
        for layer, word, height in re.findall(r"that after block (\d+) is (higher|lower), ([\d.]+), ", part):
            kind = {"higher": "peak", "lower": "trough"}[word]
            alike = rows.filter(kind=kind).sort("height", descending=kind == "peak")
            assert (int(layer), height) == (alike["layer"][0], significant(alike["height"][0]))
        outdone = sum(
            (kind == "peak" and rows.filter(kind=kind)["height"].max() > number(height) + 1e-3)
            or (kind == "trough" and rows.filter(kind=kind)["height"].min() < number(height) - 1e-3)
            for kind, _, height, _ in described
        )
        assert part.count("that after block") == outdone


def test_what_is_higher_than_the_most_prominent_peak_is_in_gemma_and_qwen():
    table = peaks_table(TABLES["extrema"], TABLES["extrema_blocks"], MODELS, ANSWERED, words_of("peaks"))
    said = dict(table.rows())
    assert "most prominent peak is after block 1 " in said["gemma"]
    assert "that after block 11 is higher, 0.976, but the texts do not settle it" in said["gemma"]
    assert "most prominent trough is after block 22 " in said["qwen05"]
    assert "that after block 1 is lower, 0.0929, and less prominent" in said["qwen05"]
    few = TABLES["extrema"].with_columns(n_reviews=pl.lit(13, dtype=pl.Int64))
    of_few = peaks_table(few, TABLES["extrema_blocks"], ["gemma"], [(MEV, "raw")], words_of("peaks"))["answer"].item()
    assert of_few.count("(13 texts)") == 2
    assert "texts)" not in said["gemma"]


def test_the_branches_of_a_block_that_ends_in_norms_keep_their_names():
    """After the first norm, "that of the feed-forward network" would be a norm."""
    row = TABLES["extrema"].filter(model="minilm", metric=MEV).row(0, named=True)
    added = {"attention_addition": 0.1, "norm_1": -0.05, "feed_forward_addition": 0.02, "norm_2": -0.01}
    schema = TABLES["extrema_blocks"].schema
    about = {"model": "minilm", "variant": "original", "view": "raw", "metric": MEV, "in_stream": True, "n_reviews": 60}
    about |= {"layer": row["layer"], "depth": row["depth"], "ci_low": 0.0, "ci_high": 0.0}
    rows = [about | {"quantity": component, "mean": change} for component, change in added.items()]
    more = pl.DataFrame(rows, schema=schema)
    blocks = pl.concat([TABLES["extrema_blocks"], more])
    said = peaks_table(TABLES["extrema"], blocks, ["minilm"], [(MEV, "raw")], words_of("peaks"))["answer"].item()
    assert (
        "In this block, the output of attention adds 0.1, the first norm takes 0.05, the output of the feed-forward "
        "network adds 0.02, the second norm takes 0.01."
    ) in said


def test_a_few_reviews_are_told_in_a_cell_of_the_board_and_in_words():
    row = TABLES["claims"].filter("first_decides", pl.col("n_same_first") < 16).row(0, named=True)
    cell = _cell(row | {"imbalance": None})
    assert any(f"first (n {row['n_same_first']}): {row['verdict_same_first']}" in line for line in cell.lines)
    assert any("9 reviews" in line for line in _cell(row | {"imbalance": None, "n_reviews": 9}).lines)
    words = verdicts_table(pl.DataFrame([row], schema=TABLES["claims"].schema), [row["model"]])[row["model"]].item()
    assert f", n {row['n_reviews']}" in words
    assert words.endswith(f"n {row['n_same_first']}")


def page(claims=None):
    empty = {"summary": SUMMARY_SCHEMA, "acceptance": ACCEPTANCE_SCHEMA, "long_texts": LONG_TEXTS_SCHEMA}
    tables = {name: pl.DataFrame(schema=schema) for name, schema in empty.items()}
    tables |= {name: TABLES[name] for name in ("claims", "contrasts", "depth")}
    tables["comparisons"] = TABLES["comparisons"].cast(COMPARISONS_SCHEMA)
    tables["claims"] = tables["claims"] if claims is None else claims
    template = (ROOT / "workflow/report/pages/first_page.jinja").read_text("utf-8")
    pairs = {"models": [(name, name) for name in MODELS], "variants": [(name, name) for name in VARIANTS]}
    shown = {"written": (), "controls": CONTROLS, "n_texts": 60, "min_texts": 6, "words": words_of("models")}
    return first_page(tables, **pairs, **shown, template=template)


@pytest.mark.parametrize("judged", [True, False])
def test_a_share_of_the_first_page_has_no_sign_and_stands_beside_its_range_and_its_side(judged):
    """By claims, and by the tables where there are none."""
    claims = TABLES["claims"] if judged else TABLES["claims"].clear()
    questions = questions_of(TABLES | {"claims": claims}, MODELS, VARIANTS, CONTROLS)
    shares = [(question, cell) for question in questions for cell in question.cells.values() if cell.is_share]
    assert len(shares) > 20
    for question, cell in shares:
        share = share_of_range(abs(cell.size), cell.depth_range)
        side = SIDES[cell.size < 0] if question.topic.what != ATTENTION else ("higher", "lower")[cell.size < 0]
        assert cell.number == (f"by {share}" if cell.said == side else f"{share} {side}"), question.topic
        assert (cell.said == side) == (cell.verdict in ("supported", "contradicted"))
    whole = " ".join(page(claims).split())
    assert len(re.findall(r"\d % of [\d.]+", whole)) == len(shares)


def test_a_sentence_for_each_model_says_what_its_cells_say():
    said = re.findall(r"<p><strong>([^<]*)\.</strong> ([^<]*)</p>", " ".join(page().split()))
    assert {name for names, _ in said for name in re.split(r", | and ", names)} >= {*MODELS}
    for model in MODELS:
        depth, moves = moves_of(questions_of(TABLES, MODELS, VARIANTS, CONTROLS), model)
        (words,) = (words for names, words in said if model in re.split(r", | and ", names))
        mixed = " (by other metrics or layers, another verdict)" if "mixed" in depth.marks else ""
        assert (f"Tokens grow {depth.said} with depth{mixed}." in words) == (depth.said in SIDES)
        assert bool(mixed) == (model in ("gemma", "qwen05")), "the slope of their rank says otherwise"
        assert [variant for variant, *_ in moves] == ["front", "end"]


SIDES = ("more alike", "less alike")
SAID = (*SIDES, "negligible", "undecided")


def moved(said, role, share=0.02):
    """A finding on the rank of a variant that says so."""
    towards = {"more alike": -1, "less alike": 1}.get(said, 1)
    verdict = said if said in ("negligible", "undecided") else "supported"
    known = {"metric": "normalized_effective_rank", "view": "raw", "variant": "front", "minus": role}
    sizes = {"estimate": towards * share / 2, "relative_effect": towards * share, "depth_range": 0.5}
    return Finding(verdict, "contrast", **known, **sizes, role=role)


@pytest.mark.parametrize("depth", [None, *SAID])
@pytest.mark.parametrize("plain", SAID)
@pytest.mark.parametrize("beside", [None, *SAID])
@pytest.mark.parametrize("role", ["edge", "side", "rewriting"])
def test_the_sentence_of_every_combination_of_verdicts_contradicts_none(depth, plain, beside, role):
    other = beside and moved(beside, role, 0.06)
    of_depth = depth and moved(depth, "original")
    said = write(words_of("models"), depth=of_depth, moves=[("front", moved(plain, "original"), other)])
    *first, last = re.findall(r"[A-Z][^.]*\.", said)
    assert len(first) == (depth is not None)
    assert "  " not in said
    for clause, verdict in (("".join(first), depth), (last.split(";")[0].split(", ")[0], plain)):
        assert [side for side in SIDES if side in clause.replace("more or less", "")] == [verdict] * (verdict in SIDES)
        assert ("undecided" in clause) == (verdict == "undecided")
    assert ("nothing that was tested" in last) == (beside is None and plain in SIDES)
    relation = {True: "more so than", False: "but less so than"}[beside == plain]
    if plain in SIDES and beside in SIDES:
        assert relation in last
        assert ("takes back about 75 %" in last) == (beside != plain)  # .06 of .06 and the .02 that are left
    elif beside in SIDES:
        assert last.endswith(f"tokens are {beside}.")
    assert ("no difference that matters" in last) == ("negligible" in (plain, beside))
    assert ("undecided" in last) == ("undecided" in (plain, beside))
    if other:
        marked = write(
            words_of("models"),
            depth=of_depth,
            moves=[("front", moved(plain, "original"), replace(other, marks=("unbalanced",)))],
        )
        assert marked.replace(" (out of balance)", "", 1) == said != marked
        first = " (another verdict where the first token stays)"
        firsts = [("front", replace(moved(plain, "original"), first_decides=True), replace(other, first_decides=True))]
        marked = write(words_of("models"), depth=of_depth, moves=firsts)
        assert marked.replace(first, "") == said
        assert marked.count(first) >= 1


def test_fragile_is_said_to_be_what_it_is():
    """Another estimate gives another verdict, or none: no few texts need to carry the mean."""
    fragile = TABLES["claims"].filter("fragile")
    assert len(fragile) > 5
    assert fragile["why_fragile"].str.contains(r"it is (supported|contradicted|negligible|undecided)").all()
    said = page()
    assert "few texts carry" not in said
    assert "by a robust estimate, or without the 5 % of the texts that move it most, the verdict is another" in said
