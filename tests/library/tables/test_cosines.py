import numpy as np
import polars as pl

from homogenization.tables.cosines import COSINES_SCHEMA, tabulate
from measured import accepted, geometry_of, written


def test_densities_integrate_to_one(tmp_path):
    table = tabulate(written(tmp_path, geometry_of(("a",)), geometry_of(("b", "c"))), accepted("a", "b"))
    assert dict(table.schema) == COSINES_SCHEMA
    width = pl.col("bin_right") - pl.col("bin_left")
    integrals = table.group_by("point", "layer", "tokens").agg((pl.col("density") * width).sum().alias("integral"))
    assert len(integrals) == 3 * 2
    np.testing.assert_allclose(integrals["integral"], 1, rtol=1e-12)
    assert (table["bin_left"].min(), table["bin_right"].max()) == (-1, 1)
    chosen = table.filter(point="residual_stream", layer=2, tokens="without_first")
    histograms = geometry_of(("a", "b")).filter(point="residual_stream", layer=2)["cosine_histogram_without_first"]
    densities = [np.array(counts) / sum(counts) / 0.05 for counts in histograms]
    np.testing.assert_allclose(chosen["density"], np.mean(densities, axis=0), rtol=1e-12)
    deeper = tabulate(written(tmp_path, geometry_of(n_blocks=4)), accepted("a"))
    assert dict(deeper.select("layer", "depth").unique().rows()) == {0: 0.0, 2: 0.5}
