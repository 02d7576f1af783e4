"""Check configurations before Snakemake, which names no lines: `python -m homogenization.config.check FILE …`."""

import sys

from homogenization.config.study import load_study
from homogenization.run.errors import HomogenizationError
from homogenization.run.yaml_files import read_yaml


def check(files: list[str]) -> int:
    """Print the mistakes of each file, all at once, or that it has none; the number of files with mistakes."""
    failed = 0
    for file in files:
        try:
            content = read_yaml(file)
            if not isinstance(content, dict):
                raise HomogenizationError(f"{file}: no configuration: it holds no keys")
            study = load_study(content, source=file)
        except HomogenizationError as error:
            failed += 1
            print(error, file=sys.stderr)
        else:
            print(f"{file}: {len(study.models)} models, {len(study.variants)} variants, no mistake")
    return failed


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]) > 0)
