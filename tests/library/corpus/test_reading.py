import csv
import json
import re

import datasets
import polars as pl
import pytest
from datasets import ClassLabel, Dataset, Features, List, Value

from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.local_files import is_local
from homogenization.corpus.reading import label_texts, read_reviews
from homogenization.corpus.sampling import sample_reviews
from homogenization.run.errors import HomogenizationError


def write(path, rows, newline="\n", bom=""):
    """Write rows in the format of the ending, with no reader's idea of a type."""
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(bom)
            out = csv.DictWriter(file, list(rows[0]), lineterminator=newline)
            out.writeheader()
            out.writerows(rows)
    else:
        lines = (json.dumps(row, ensure_ascii=False) + newline for row in rows)
        content = json.dumps(rows, indent=1) if path.suffix == ".json" else "".join(lines)
        path.write_text(bom + content, encoding="utf-8", newline="")
    return str(path)


@pytest.mark.parametrize(
    ("name", "cells", "kept"),
    [
        ("id", [100, 101], [100, 101]),
        ("row", ["r0", "r1"], ["r0", "r1"]),  # also a name of ours
        ("share", [1, 0.5], [1.0, 0.5]),
        ("mixed", [1, "a"], ["1", "a"]),
        ("late", [None, "x"], [None, "x"]),
        ("half", ["a\ud800", "b"], ["a", "b"]),
        ("tags", [[1], [2]], None),
        ("of", [{"a": 1}, None], None),
    ],
)
def test_further_columns_stay_beside_the_reviews(tmp_path, name, cells, kept):
    rows = [{"text": f"Review {number} is fine.", name: cell} for number, cell in enumerate(cells)]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    raw = read_reviews(str(tmp_path / "r.json"), "text", None)
    assert raw["label"].to_list() == ["", ""]
    name = "row_of_source" if name == "row" else name
    sample = sample_reviews(clean_reviews(raw), seed=0, start=0, stop=2, balance_by=None).sort("row")
    assert sample.columns == ["review_id", "text", "label", "rank", "row", *([name] if kept else [])]
    assert (sample[name].to_list() if kept else None) == kept


def test_a_data_set_of_the_hub_has_its_class_names(monkeypatch):
    features = {"text": Value("string"), "label": ClassLabel(names=["bad", "good"]), "tags": List(Value("string"))}
    rows = {"text": ["So so.", "Fine.", "No label."], "label": [0, 1, -1], "tags": [[], ["a"], []]}
    loaded = Dataset.from_dict(rows, features=Features(features))
    monkeypatch.setattr(datasets, "load_dataset", lambda source, subset, **_: {"a": loaded}[subset])
    raw = read_reviews("some/reviews", "text", "label", subset="a", revision="c0ffee")
    assert raw.rows() == [(0, "So so.", "bad"), (1, "Fine.", "good"), (2, "No label.", None)]
    with pytest.raises(HomogenizationError, match="'some/reviews', subset 'b', split 'train' could not be loaded"):
        read_reviews("some/reviews", "text", "label", subset="b")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.jsonl", "", "holds no rows"),
        ("broken.jsonl", '{"text": "a"}\n{"text": "b"}\n{"text": "c\n', "could not be read as jsonl.*line 3"),
        ("numbers.csv", "text,label\n1,0\n2,1\n", "holds String cells or numbers, not text"),
        ("numbers.jsonl", '{"text": 1, "label": 0}', "holds Int64 cells or numbers, not text"),
        ("texts.json", '["A text.", "Another."]', "row 1 is no mapping of columns to values"),
        ("columns.json", '{"text": ["A", "B"], "label": ["a"]}', "could not be read as json"),
        ("open.csv", 'text,label\n"A text,a\nAnother,b\n', "could not be read as csv: unexpected end of data"),
        ("wide.csv", "text,label\nA text,a\nOne, two,b\n", "row 3 has 3 cells, and the header 2"),
        ("marks.csv", "text;label\na;b\n", "semicolons between its columns .*write commas"),
        ("column.csv", "txt,label\na,b\n", "text_column 'text'.*did you mean 'txt'.*label, txt"),
        ("twice.csv", "text,label,text\na,b,c\n", "could not be read as csv.*text"),
    ],
)
def test_files_without_reviews_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(HomogenizationError, match=words) as caught:
        read_reviews(str(tmp_path / name), "text", "label")
    assert name in str(caught.value)


@pytest.mark.parametrize("encoding", ["latin1", "utf-16"])
@pytest.mark.parametrize(("ending", "content"), [("csv", "text\ncafé"), ("jsonl", '{"text": "café"}')])
def test_another_encoding_is_told_with_its_cure(tmp_path, encoding, ending, content):
    (tmp_path / f"r.{ending}").write_bytes(content.encode(encoding))
    with pytest.raises(HomogenizationError, match=f"is not UTF-8 .*iconv -f {encoding} -t utf-8"):
        read_reviews(str(tmp_path / f"r.{ending}"), "text", None)


# what readers take for missing, for numbers or for dates, and what a file writes in an odd way
MISSING = ["None", "NA", "N/A", "null", "NULL", "nan", "NaN", "n/a", "#N/A", "<NA>", "-nan"]
WORDS = [*MISSING, "007", "7", "1e3", "2020-01-01"]
ODD = ['Says "so", twice', "one\ntwo", "one\r\ntwo", "  spaced ", "caf\u00e9 \U0001fa77", "x" * 200_000]
TEXTS = ["NA", "None", "null", "2012", *ODD]


@pytest.mark.parametrize(("newline", "bom"), [("\n", ""), ("\r\n", "\ufeff")])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_texts_and_labels_are_read_as_they_are_written(tmp_path, ending, newline, bom):
    rows = [{"text": f"{text} {number}", "label": word} for number, word in enumerate(WORDS) for text in TEXTS]
    rows += [{"text": text, "label": "a"} for text in TEXTS]
    reviews = read_reviews(write(tmp_path / f"r.{ending}", rows, newline, bom), "text", "label")
    assert reviews["text"].to_list() == [row["text"] for row in rows]
    assert reviews["label"].to_list() == [row["label"] for row in rows]
    assert reviews.schema == {"row": pl.Int64, "text": pl.String, "label": pl.String}


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1.0, 0.0, float("nan"), None], ["1", "0", None, None]),
        ([5.0, 1.0, -1.0], ["5", "1", None]),
        ([1.0, 4.5], ["1.0", "4.5"]),
        (["None", "nan", "Drama", " ", ""], ["None", "nan", "Drama", None, None]),  # classes of these names
        ([0, 1, -1], ["0", "1", None]),
        (["0", "1", "-1", ""], ["0", "1", None, None]),
        ([-1, -1], [None, None]),
        ([-2, -1, 0, 1], ["-2", "-1", "0", "1"]),
        (["-1", "good", "bad"], ["-1", "good", "bad"]),
    ],
)
def test_what_a_label_is(values, labels):
    assert label_texts(pl.Series(values)).to_list() == labels


def test_rows_without_a_label_are_told(tmp_path, caplog):
    rows = [{"text": f"Review number {n} is fine.", "label": n % 3 - 1} for n in range(15)]
    raw = read_reviews(write(tmp_path / "r.csv", rows), "text", "label")
    assert raw["label"].to_list() == [None, "0", "1"] * 5
    (told,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert re.search("5 of 15 rows.*Set label_column: null", told)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("columns.json", '{"text": ["A b.", "C d."], "label": ["a", "c"]}'),
        ("numbered.json", '{"text": {"0": "A b.", "1": "C d."}, "label": {"0": "a", "1": "c"}}'),
        ("rows.json", '[{"text": "A b.", "label": "a"},\n{"label": "c", "text": "C d."}]'),
        ("short.csv", 'text,label,more\n"A b.",a,1\nC d.,"c"\n'),
    ],
)
def test_shapes_that_read_alike(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    raw = read_reviews(str(tmp_path / name), "text", "label")
    assert raw.select("text", "label").rows() == [("A b.", "a"), ("C d.", "c")]


PATHS = ["reviews.csv", "a/b/REVIEWS.JSONL", "./reviews", "../reviews", "/reviews", "~/reviews"]


@pytest.mark.parametrize("source", [*PATHS, "stanfordnlp/imdb", "imdb", "somebody/reviews.v2"])
def test_paths_are_local_and_ids_on_the_hub_are_not(source, tmp_path, monkeypatch):
    assert is_local(source) == (source in PATHS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody/reviews.v2").write_text("")
    assert is_local("somebody/reviews.v2")  # what exists is local
