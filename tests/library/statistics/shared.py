"""What tests of statistics share: rows of the tables that statistics read, and the script that writes their tables."""

from pathlib import Path

import numpy as np

from examples import example_table
from homogenization.tables.metrics import VALUES_SCHEMA
from script import run_script

WORKFLOW = Path(__file__).parents[3] / "workflow"
SCRIPT = WORKFLOW / "scripts" / "tabulate.py"
MARGIN = 0.02
DRAWS, CONFIDENCE, SEED = 2000, 0.95, 0


def metric_rows(
    values, metric="normalized_effective_rank", view="raw", variant="original", model="m", point="residual_stream"
):
    """Rows of tables/metrics.parquet from (reviews, layers) values, of all layers from the input to the last."""
    review, layer = (index.ravel() for index in np.indices(values.shape))
    names = {"model": model, "variant": variant, "review_id": [f"r{number:03d}" for number in review]}
    names |= {"point": point, "view": view, "metric": metric}
    depth = layer / (values.shape[1] - 1)
    return example_table(VALUES_SCHEMA, **names, layer=layer, depth=depth, value=values.ravel())


def run_tabulate(folder, module, inputs, outputs, **params):
    """Run the script of tables in `folder`, as a rule with these inputs, outputs and parameters of a module."""
    named = {path.stem: str(path) for path in outputs}
    run_script("tabulate", folder / "log", inputs, named, {"code": "hash", "tables": {module: params}})
