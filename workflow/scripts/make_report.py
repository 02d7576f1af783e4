"""Collect figures, captions and provenance in one HTML file: Snakemake's own report of the figures made so far."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from homogenization.run.job import job
from homogenization.reading.citation import provenance
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.parquet import read_table

report = snakemake.output.report
with job(snakemake), tempfile.TemporaryDirectory() as folder, written_whole(report) as partial:
    configfile = Path(folder) / "config.json"
    configfile.write_text(json.dumps(snakemake.params.config, ensure_ascii=False), "utf-8")
    origin = json.dumps(provenance(read_table(snakemake.input.extraction), snakemake.params.config))
    environment = os.environ | {"HOMOGENIZATION_PROVENANCE": origin}
    snakefile = snakemake.params.address or Path(snakemake.scriptdir).resolve().parent / "Snakefile"
    command = [sys.executable, "-P", "-m", "snakemake", "figures", "pages", "--snakefile", str(snakefile)]
    command += ["--configfile", str(configfile), "--report", str(partial)]
    # the running workflow holds the lock; its profile may name an executor, which a report does not need
    command += ["--nolock", "--workflow-profile", "none"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    print(done.stdout)
    if done.returncode != 0:
        raise HomogenizationError(f"{report}: Snakemake could not make the report; its own words stand above")
