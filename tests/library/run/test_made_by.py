import zipfile

import numpy as np
import polars as pl
import pytest

from homogenization.names.files import ORIGIN_FILE
from homogenization.run import job
from homogenization.run.made_by import file_key, job_key, mark, mark_zip, recorded_key
from homogenization.run.parquet import write_table

KEY = "0123456789abcdef" * 2
PARAMS = {"code": "c0de", "draws": 200, "chosen": {"position": "front", "like": None}}
TABLE = pl.DataFrame({"review_id": ["a"], "value": [np.pi]})


@pytest.fixture
def made(monkeypatch):
    """Tables are written as a job with this key writes them."""
    record = {"rule": "measure", "params": PARAMS, "key": KEY}
    monkeypatch.setattr("homogenization.run.parquet.job_record", lambda: record)


def test_every_kind_of_file_with_a_place_gives_its_key_back(tmp_path, made):
    write_table(TABLE, tmp_path / "table.parquet", {"states": {"made_by": {"key": "of another"}}})
    with zipfile.ZipFile(tmp_path / "store.zip", "w") as store:
        store.writestr("zarr.json", "{}")
    mark_zip(tmp_path / "store.zip", KEY)
    (tmp_path / "run.json").write_text(f'{{"made_by": {{"key": "{KEY}"}}, "seconds": 3.5}}')
    (tmp_path / "job.csv").write_text("a,b\n")
    for name in ("table.parquet", "store.zip", "run.json"):
        assert recorded_key(tmp_path / name) == KEY
    assert recorded_key(tmp_path / "job.csv") is None
    assert zipfile.ZipFile(tmp_path / "store.zip").read("zarr.json") == b"{}"


def test_the_files_of_a_built_model_have_the_key_beside_them(tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    (tmp_path / ORIGIN_FILE).write_text(f"random weights, seed 0\n{mark(KEY)}\n")
    assert recorded_key(tmp_path / "config.json") == recorded_key(tmp_path / "model.safetensors") == KEY


def test_what_a_user_brings_counts_by_its_content(tmp_path):
    texts, table = tmp_path / "texts.csv", tmp_path / "texts.parquet"
    texts.write_text("text\none\n")
    TABLE.write_parquet(table)
    before = [file_key(texts), file_key(table)]
    texts.write_text("text\ntwo\n")
    TABLE.with_columns(value=2.0).write_parquet(table)
    assert not {*before} & {file_key(texts), file_key(table)}
    assert all(len(key) == 64 for key in before)
    assert file_key(tmp_path / "gone.csv") == ""


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 and no more PAR1", b"\x00" * 1000])
@pytest.mark.parametrize("name", ["a.parquet", "a.zip", "a.json"])
def test_a_damaged_file_has_no_key_and_is_no_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert recorded_key(tmp_path / name) is None
    assert len(file_key(tmp_path / name)) == 64


def test_a_key_follows_from_parameters_and_from_what_was_read(tmp_path, made):
    write_table(TABLE, tmp_path / "a.parquet")
    write_table(TABLE.with_columns(value=1.0), tmp_path / "b.parquet")  # by the same job: another hour, the same key
    key = job_key(PARAMS, [tmp_path / "a.parquet"])
    turned = {"chosen": {"like": None, "position": "front"}, "draws": 200, "code": "c0de"}
    assert job_key(turned, [tmp_path / "b.parquet"]) == key
    others = [
        job_key({**PARAMS, "draws": 201}, [tmp_path / "a.parquet"]),
        job_key({**PARAMS, "draws": "200"}, [tmp_path / "a.parquet"]),
        job_key(PARAMS, []),
        job_key(PARAMS, [tmp_path / "a.parquet", tmp_path / "a.parquet"]),
        job_key(PARAMS, [tmp_path / "gone.parquet"]),
    ]
    assert len({key, *others}) == 6


def test_outside_of_a_job_there_is_no_key(tmp_path):
    assert job.job_record() == {}
    write_table(TABLE, tmp_path / "a.parquet")
    assert recorded_key(tmp_path / "a.parquet") is None
