"""A job that is killed with signal 9 in the middle, and the next attempt, which repeats nothing that was finished."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

import polars as pl
import pytest

from conftest import ROOT
from extracted import pack_reviews_together
from homogenization.interventions import intervened
from homogenization.interventions.conditions import conditions_of
from homogenization.interventions.finished import Finished
from homogenization.run.parquet import read_table, write_table
from script import ScriptError, run_script
from tiny_blocks import EMBEDDED, saved

CHOSEN = {
    "blocks": ["all"],
    "dial": {"patterns": ["first", "removed"], "strengths": [0.2]},
    "closed": ["massive"],
    "capped": None,
    "positions": [],
}
CONDITIONS = conditions_of(CHOSEN)
REVIEWS = ["a", "b", "c"]
# the job of argv[1], in which a function does not come back from a call: it says so, and waits for the end
HANGING = """
import importlib, json, sys, time
from pathlib import Path
from script import run_script
job = json.loads(Path(sys.argv[1]).read_text())
module, name = importlib.import_module(job["module"]), job["function"]
function, calls = getattr(module, name), []
def hanging(*arguments):
    calls.append(arguments)
    if len(calls) == job["call"]:
        Path(job["mark"]).touch()
        time.sleep(3600)
    return function(*arguments)
setattr(module, name, hanging)
run_script("read_in_conditions", Path(job["log"]), *job["arguments"])
"""


def arguments(folder, entry, module):
    """Inputs, outputs and parameters of a job that needs a pass for each review."""
    write_table(pl.DataFrame({"review_id": REVIEWS, "text": EMBEDDED[:3], "rank": [0, 1, 2]}), folder / "in.parquet")
    names = {
        "interventions": ("metrics", "doses", "slopes", "delivered"),
        "consequences": ("metrics", "texts", "states"),
    }
    outputs = {name: str(folder / f"{name}.parquet") for name in names[module]}
    params = {"model": {"name": "tiny", "token_budget": 1, "max_tokens": None, **entry}, "shard": "000", "seed": 0}
    params |= {"variant": "original", "text": "original", "n_reviews": 3, "code": "1", "module": f"{module}.shard"}
    params |= {"conditions": [condition.fields for condition in CONDITIONS], "metrics": ["cosine_anisotropy"]}
    params["slopes"] = {"patterns": ["first"], "metrics": ["cosine_anisotropy"]}
    return {name: str(folder / "in.parquet") for name in ("variant", "original")}, outputs, params


def killed(folder, job, module, function, call):
    """Run a job, and kill it in that call of a function."""
    asked = {"module": module, "function": function, "call": call, "mark": str(folder / "mark")}
    (folder / "job.json").write_text(json.dumps(asked | {"log": str(folder / "log"), "arguments": job}))
    paths = os.pathsep.join([str(ROOT / "workflow/lib"), str(ROOT / "tests")])
    command = [sys.executable, "-c", HANGING, str(folder / "job.json")]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})
    while not (folder / "mark").exists():
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def failed(folder, job, module, function, call):
    """Run a job in this process, in which that call of a function fails."""
    calls, of_module = [], importlib.import_module(module)
    working = getattr(of_module, function)

    def failing(*rest):
        calls.append(rest)
        if len(calls) == call:
            raise RuntimeError("the node is gone")
        return working(*rest)

    with patch.object(of_module, function, failing), pytest.raises(ScriptError, match="the node is gone"):
        run_script("read_in_conditions", folder / "log", *job)


@pytest.mark.parametrize(
    ("ended", "package", "module", "function", "call", "left"),
    [
        # in the second review's second dial: it has its untouched run and a dial, and two conditions are left
        (killed, "interventions", "interventions.intervened", "apply", 5, 2 + 3),
        (failed, "consequences", "interventions.intervened", "apply", 5, 2 + 3),
        # all conditions are known, and the slopes of one review
        (failed, "interventions", "interventions.slopes", "slopes_of_review", 2, 2),
    ],
)
def test_the_next_attempt_makes_what_was_not_finished(
    tmp_path, monkeypatch, ended, package, module, function, call, left
):
    entry, module = saved(tmp_path / "model", "llama"), f"homogenization.{module}"
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole, job = (arguments(tmp_path / name, entry, package) for name in ("whole", "killed"))
    run_script("read_in_conditions", tmp_path / "log", *whole)
    ended(tmp_path / "killed", job, module, function, call)
    journal = tmp_path / "killed" / "metrics.parquet.unfinished"
    assert journal.stat().st_size > 0
    with journal.open("ab") as file:
        file.write(b"half of a pie")
    ran, of_module = [], importlib.import_module(module)
    again = getattr(of_module, function)
    monkeypatch.setattr(of_module, function, lambda *rest: ran.append(rest) or again(*rest))
    run_script("read_in_conditions", tmp_path / "log", *job)
    assert len(ran) == left
    if function == "apply":
        assert [pack.names for _, pack, _ in ran] == [["b"]] * 2 + [["c"]] * 3
        assert [condition for condition, *_ in ran] == [*CONDITIONS[2:], *CONDITIONS[1:]]
    for name, path in job[1].items():
        assert read_table(path).equals(read_table(whole[1][name])), name
    assert not journal.exists()
    assert not list(tmp_path.glob("whole/*.unfinished"))


def test_what_other_code_has_found_is_not_taken(tmp_path, monkeypatch):
    entry, ran = saved(tmp_path / "model", "llama"), []
    inputs, outputs, params = arguments(tmp_path, entry, "interventions")
    failed(tmp_path, (inputs, outputs, params), "homogenization.interventions.intervened", "apply", 5)
    again = intervened.apply
    monkeypatch.setattr(intervened, "apply", lambda *rest: ran.append(rest) or again(*rest))
    run_script("read_in_conditions", tmp_path / "log", inputs, outputs, params | {"code": "2", "slopes": None})
    assert "6 pieces of an attempt that did not end" in (tmp_path / "log").read_text()
    assert len(ran) == 3 * 3


def test_threads_beside_a_gpu_find_the_same_and_keep_it(tmp_path, monkeypatch):
    """Forced here on a CPU; more reviews in a pass than threads, more conditions than wait."""
    pack_reviews_together(monkeypatch)
    entry = saved(tmp_path / "model", "llama")
    inputs, outputs, params = arguments(tmp_path, entry, "interventions")
    params["model"]["token_budget"] = 4096
    run_script("read_in_conditions", tmp_path / "log", inputs, outputs, params)
    inline = {name: read_table(path) for name, path in outputs.items()}
    put, names = Finished.put, set()
    measure = intervened.read

    def measured(*arguments):
        names.add(threading.current_thread().name)
        return measure(*arguments)

    @contextmanager
    def threads(_model):
        with ThreadPoolExecutor(2) as pool:
            yield pool

    kept = []
    monkeypatch.setattr(intervened, "read", measured)
    monkeypatch.setattr(intervened, "_beside", threads)
    monkeypatch.setattr(Finished, "put", lambda self, *rest: kept.append(rest[:2]) or put(self, *rest))
    run_script("read_in_conditions", tmp_path / "log", inputs, outputs, params | {"code": "2"})
    assert threading.main_thread().name not in names
    assert kept == [(condition.key, review) for condition in CONDITIONS for review in REVIEWS]
    assert all(read_table(path).equals(inline[name]) for name, path in outputs.items())
