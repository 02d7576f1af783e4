"""What is measured of states on processor cores: operations and time, from the lengths of reviews and architectures.

The time of an operation is that of a float64 product of matrices on one core. What is not a product of matrices counts
by constants, which were measured ([plan](plan.md)).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.text import aligned, count, duration, three_digits
from homogenization.states.extraction import chosen_layers

#: What the measures of states will take on processor cores: a row for each model and measure, and a total.
MEASURES_SCHEMA = {
    "measure": pl.String,  #: `spectra`, `geometry`, `common_length`, `pooled`, `mauve`, or `total`
    "model": pl.String,  #: null in the total
    "jobs": pl.Int64,  #: each on one core
    "gigaflops": pl.Float64,  #: 10⁹ float64 operations of products and decompositions of matrices
    "core_hours": pl.Float64,  #: h, over all jobs
    "longest_seconds": pl.Float64,  #: s, of the job that takes longest; in the total of all
}
