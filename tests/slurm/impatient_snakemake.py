"""Snakemake that asks Slurm every second what became of its jobs.

The plugin waits 10 s longer after each look that finds no job ended: most of a short run would be waiting.
"""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
