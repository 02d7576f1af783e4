import csv
import json
import math
import re
import tempfile
from decimal import Decimal

import datasets
import polars as pl
import pytest

from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.local_files import is_local
from homogenization.corpus.reading import label_texts, load_as_written, read_reviews
from homogenization.corpus.sampling import sample_reviews
from homogenization.run.errors import HomogenizationError

ROWS = [{"text": f"Review number {n} is fine.", "label": n % 2} for n in range(6)]


@pytest.mark.parametrize(("split", "rows"), [("train[:4]", ROWS[:4]), ("train[50%:]", ROWS[3:])])
def test_a_part_of_a_local_file_is_read(tmp_path, split, rows):
    reviews = read_reviews(write(tmp_path / "r.jsonl", ROWS), "text", "label", split=split)
    assert reviews["text"].to_list() == [row["text"] for row in rows]
    assert reviews["label"].to_list() == [str(row["label"]) for row in rows]
    write(tmp_path / "r.jsonl", ROWS[:2])
    assert len(read_reviews(str(tmp_path / "r.jsonl"), "text", "label")) == 2  # an edited file is read anew


@pytest.mark.parametrize("split", ["test", "train[:x]", "train[3", "train[9:]"])
def test_a_part_that_a_local_file_lacks_is_refused(tmp_path, split):
    path = write(tmp_path / "r.jsonl", ROWS)
    with pytest.raises(HomogenizationError, match=r"split 't.*' is no part of .*Allowed: train, or a part"):
        read_reviews(path, "text", "label", split=split)


def test_class_labels_become_their_names_and_unlabelled_rows_go(tmp_path):
    features = datasets.Features(
        {"body": datasets.Value("string"), "stars": datasets.ClassLabel(names=["bad", "good"])}
    )
    rows = {"body": ["So so.", "Fine.", "No label."], "stars": [0, 1, -1]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(tmp_path / "r.parquet"))
    raw = read_reviews(str(tmp_path / "r.parquet"), "body", "stars")
    assert raw["label"].to_list() == ["bad", "good", None]
    assert sorted(clean_reviews(raw)["label"]) == ["bad", "good"]


def test_a_corpus_without_labels_has_empty_ones(tmp_path):
    raw = read_reviews(write(tmp_path / "r.jsonl", ROWS), "text", None)
    assert raw["label"].to_list() == [""] * 6
    assert len(sample_reviews(clean_reviews(raw), seed=0, start=0, stop=6, balance_by=None)) == 6


NAN = math.nan
LARGE = 2**53 + 1


@pytest.mark.parametrize(
    ("name", "cells", "kept"),
    [
        ("id", [100, 101], [100, 101]),
        ("row", ["r0", "r1"], ["r0", "r1"]),  # also a name of ours
        ("id", [LARGE, NAN], [LARGE, None]),
        ("id", [LARGE, 0.5], [str(LARGE), "0.5"]),  # as a float, it would be another
        ("id", [2**70, 1], [str(2**70), "1"]),
        ("share", [1, 0.5], [1.0, 0.5]),
        ("mixed", [1, "a"], ["1", "a"]),
        ("note", ["x" * 201, "y"], ["x" * 201, "y"]),
        ("tags", [[1], [2]], None),
        ("of", [{"a": 1}, None], None),
    ],
)
def test_further_columns_of_a_local_file_stay_beside_the_reviews(tmp_path, name, cells, kept):
    rows = [{"text": f"Review {number} is fine.", name: cell} for number, cell in enumerate(cells)]
    raw = read_reviews(write(tmp_path / "r.jsonl", rows), "text", None)
    name = "row_of_source" if name == "row" else name
    assert (raw[name].to_list() if name in raw.columns else None) == kept
    sample = sample_reviews(clean_reviews(raw), seed=0, start=0, stop=2, balance_by=None).sort("row")
    assert sample.columns == ["review_id", "text", "label", "rank", "row", *([name] if kept else [])]
    assert (sample[name].to_list() if kept else None) == kept


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_further_columns_are_read_in_every_format(tmp_path, ending):
    rows = [{"text": f"Review {number} is fine.", "label": "a", "id": str(number)} for number in range(3)]
    raw = read_reviews(write(tmp_path / f"r.{ending}", rows), "text", "label")
    assert raw.columns == ["row", "text", "label", "id"]
    assert raw["id"].to_list() == ["0", "1", "2"]


def test_a_missing_column_names_those_that_exist(tmp_path):
    with pytest.raises(HomogenizationError, match=r"text_column 'txt'.*did you mean 'text'.*label, text"):
        read_reviews(write(tmp_path / "r.jsonl", ROWS), "txt", "label")
    with pytest.raises(HomogenizationError, match=r"label_column 'stars'.*label, text"):
        read_reviews(write(tmp_path / "r.jsonl", ROWS), "text", "stars")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.jsonl", "", "holds no rows"),
        ("empty.csv", "", "holds no rows"),
        ("header.csv", "text,label\n", "holds no rows"),
        ("none.json", "[]", "holds no rows"),
        ("broken.json", "{not json", "could not be read as json"),
        ("broken.parquet", "PAR1 but no more", "could not be read as parquet"),
        ("numbers.csv", "text,label\n1,0\n2,1\n", "holds numbers, not text"),
        ("numbers.jsonl", '{"text": 1, "label": 0}', "holds int values, not text"),
        ("texts.json", '["A text.", "Another."]', "row 1 is no mapping of columns to values"),
        ("rows.json", '{"text": {"0": "A", "1": "B"}, "label": {"0": "a", "5": "f"}}', "'label' has other rows than"),
        ("open.csv", 'text,label\n"A text,a\nAnother,b\n', "could not be read as csv: unexpected end of data"),
        ("wide.csv", "text,label\nA text,a\nOne, two,b\n", "row 3 has 3 cells, and the header 2"),
    ],
)
def test_files_without_reviews_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(HomogenizationError, match=words) as caught:
        read_reviews(str(tmp_path / name), "text", "label")
    assert name in str(caught.value)


# what pandas takes for missing, for numbers or for dates, and what a file writes in an odd way
MISSING = ["None", "NA", "N/A", "null", "NULL", "nan", "NaN", "n/a", "#N/A", "<NA>", "-nan"]
WORDS = [*MISSING, "007", "7", "1e3", "2020-01-01"]
ODD = ['Says "so", twice', "one\ntwo", "one\r\ntwo", "  spaced ", "caf\u00e9 \U0001fa77", "x" * 200_000]
TEXTS = ["NA", "None", "null", "2012", *ODD]


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


@pytest.mark.parametrize(("newline", "bom"), [("\n", ""), ("\r\n", "\ufeff")])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_texts_and_labels_are_read_as_they_are_written(tmp_path, ending, newline, bom):
    rows = [{"text": f"{text} {number}", "label": word} for number, word in enumerate(WORDS) for text in TEXTS]
    rows += [{"text": text, "label": "a"} for text in TEXTS]
    reviews = read_reviews(write(tmp_path / f"r.{ending}", rows, newline, bom), "text", "label")
    assert reviews["text"].to_list() == [row["text"] for row in rows]
    assert reviews["label"].to_list() == [row["label"] for row in rows]
    assert reviews.schema == {"row": pl.Int64, "text": pl.String, "label": pl.String}


def test_csv_is_read_as_another_reader_reads_it(tmp_path):
    """polars, told to take every cell for text; quoted or not, and short rows."""
    path = tmp_path / "r.csv"
    path.write_text(
        'label,text,more\n"None",a text,1\nNA,"a ""quoted"", one",\n,"one\ntwo",3\n"",last\n', encoding="utf-8"
    )
    source = pl.read_csv(path, infer_schema=False).fill_null("")
    reviews = read_reviews(str(path), "text", "label")
    assert reviews["text"].to_list() == source["text"].to_list()
    assert reviews["label"].fill_null("").to_list() == source["label"].to_list() == ["None", "NA", "", ""]
    assert reviews["label"].null_count() == 2


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1.0, 0.0, math.nan, None], ["1", "0", None, None]),
        (["None", "nan", "Drama"], ["None", "nan", "Drama"]),  # classes of these names
        (["1.0", "1", "0.0", "0", "", " "], ["1", "1", "0", "0", None, None]),
        ([1e20, 10**20, 4.5], ["100000000000000000000", "100000000000000000000", "4.5"]),
        ([Decimal("2.0"), Decimal("2.5")], ["2", "2.5"]),
        ([True, False, None], ["True", "False", None]),
        (["true", "FALSE", "True"], ["True", "False", "True"]),
        (["1.10", "01.0", "a 1.0"], ["1.10", "01", "a 1.0"]),
        ([0, 1, -1], ["0", "1", None]),
        (["0", "1", "-1", ""], ["0", "1", None, None]),
        ([5.0, 1.0, -1.0], ["5", "1", None]),
        ([-1, -1], [None, None]),
        ([-1, 1], ["-1", "1"]),
        ([-2, -1, 0, 1], ["-2", "-1", "0", "1"]),
        (["-1", "good", "bad"], ["-1", "good", "bad"]),
        (["a\ud800", "b"], ["a", "b"]),
    ],
)
def test_what_a_label_is(values, labels):
    assert label_texts(values) == labels


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0.0, 1.0, None], "5 of 15 rows"),
        ([0, 1, -1], "5 of 15 rows"),
    ],
)
def test_rows_without_a_label_are_told_and_are_no_class(tmp_path, caplog, ending, labels, said):
    rows = [{"text": f"Review number {n} is fine.", "label": labels[n % 3]} for n in range(15)]
    raw = read_reviews(write(tmp_path / f"r.{ending}", rows), "text", "label")
    assert raw["label"].to_list() == ["0", "1", None] * 5
    (told,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert re.search(f"{said}.*Set label_column: null", told)
    sample = sample_reviews(clean_reviews(raw), seed=0, start=0, stop=10, balance_by="label")
    assert sorted(sample["label"]) == ["0"] * 5 + ["1"] * 5


def test_csv_of_a_data_set_keeps_its_cells(tmp_path):
    """`datasets` reads CSV by pandas, where a data set of the hub has such files."""
    folder = tmp_path / "data"
    folder.mkdir()

    def loaded():
        with tempfile.TemporaryDirectory(dir=tmp_path) as cache:
            dataset = load_as_written(str(folder), "train", cache_dir=cache)
            return {name: list(dataset[name]) for name in dataset.column_names}

    write(folder / "r.csv", [{"text": word, "label": word} for word in [*WORDS, ""]])
    assert loaded() == {key: [*WORDS, None] for key in ("text", "label")}
    names = "      class_label:\n        names:\n          '0': None\n          '1': NA\n"
    features = f"  - name: text\n    dtype: string\n  - name: label\n    dtype:\n{names}"
    (folder / "README.md").write_text(f"---\ndataset_info:\n  features:\n{features}---\n")
    rows = [("NA", "NA"), ("b", "None"), ("c", "")]
    write(folder / "r.csv", [{"text": text, "label": label} for text, label in rows])
    assert loaded() == {"text": ["NA", "b", "c"], "label": [1, 0, None]}


@pytest.mark.parametrize(
    "content",
    [
        '{"text": ["A b.", "C d."], "label": ["a", "c"]}',
        '{"text": {"0": "A b.", "1": "C d."}, "label": {"1": "c", "0": "a"}}',
        '[{"text": "A b.", "label": "a"},\n{"label": "c", "text": "C d."}]',
    ],
)
def test_json_of_columns_and_of_rows_read_alike(tmp_path, content):
    (tmp_path / "r.json").write_text(content)
    raw = read_reviews(str(tmp_path / "r.json"), "text", "label")
    assert raw.select("text", "label").rows() == [("A b.", "a"), ("C d.", "c")]


PATHS = ["reviews.csv", "a/b/REVIEWS.JSONL", "./reviews", "../reviews", "/reviews", "~/reviews"]


@pytest.mark.parametrize("source", [*PATHS, "stanfordnlp/imdb", "imdb", "somebody/reviews.v2"])
def test_paths_are_local_and_ids_on_the_hub_are_not(source, tmp_path, monkeypatch):
    assert is_local(source) == (source in PATHS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody/reviews.v2").write_text("")
    assert is_local("somebody/reviews.v2")  # what exists is local
