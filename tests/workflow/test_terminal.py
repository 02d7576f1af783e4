"""The workflow on a terminal, as a person sees it: a finished job and one that fails, of the small run."""

import sys

from terminal import run_on_terminal

TABLES = ("results/tables/mauve.parquet", "results/tables/cosines.parquet")


def test_stages_and_the_message_of_a_failed_job_on_a_terminal(finished):
    damaged = finished.folder / "results/mauve/tiny/front/001.parquet"
    damaged.write_bytes(damaged.read_bytes()[:100])
    for table in TABLES:
        (finished.folder / table).unlink()
    command = [sys.executable, "-m", "snakemake", "--configfile", "test.yaml", "--cores", "1", "--keep-going", *TABLES]
    seen = run_on_terminal(command, finished.folder)
    shown = [line for line in seen.lines if line]
    assert seen.status == 1, "\n".join(shown)

    log = (finished.folder / "results/logs/tables/tabulate_mauve.log").read_text()
    message = next(line for line in log.splitlines() if line.startswith("error: "))
    assert "results/mauve/tiny/front/001.parquet" in message
    assert "".join(message.split()) in "".join("".join(seen.lines).split())  # it goes over several lines
    assert "Error in rule tabulate_mauve:" in shown
    assert [line.split()[::2] for line in shown[-2:]] == [["tables", "1/2", "failed"], ["all", "1/2", "failed"]]
    assert not seen.cursor_hidden

    # what is said of each job stands in the log alone
    of_each_job = ("Finished jobid", "rule tabulate_cosines:", "Select jobs to execute", "Job stats:")
    whole = max((finished.folder / ".snakemake/log").iterdir()).read_text()  # their names are dates
    assert [words for words in of_each_job if words not in whole] == []
    assert [words for words in of_each_job if any(words in line for line in shown)] == []
