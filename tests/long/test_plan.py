"""`snakemake plan` says what a study will take, to whoever asks, and stays out of the study's own runs."""

import re

from homogenization.run.files import read_json


def test_the_plan_is_printed_whenever_it_is_asked_for(finished):
    records = [read_json(path) for path in (finished.folder / "results/states").rglob("*.json")]
    written = sum(path.stat().st_size for path in (finished.folder / "results/states").rglob("*.zarr.zip"))
    for _ in range(2):
        done = finished.run("--cores", "2", "plan")
        assert done.returncode == 0, done.stdout
        total = re.search(r"^ ?total +null +(.*)$", done.stdout, re.MULTILINE)[1].replace(",", "").split()
        jobs, *_, tokens, n_bytes = (int(number) for number in total if number.isdigit())
        assert (jobs, tokens) == (len(records), sum(record["n_tokens"] for record in records))
        # these stores are so small that headers weigh
        assert 0.7 * written < n_bytes < written
