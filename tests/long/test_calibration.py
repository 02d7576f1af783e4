"""How well intervals, verdicts and tests hold at 16 reviews (docs/statistics.md has the table of the benchmark).

Student's interval misses skewed means on the side of the long tail, and the test of 24 layers finds too many where they
are strongly skewed.
"""

import pytest

from benchmark_calibration import KINDS, made_up, rates

# least coverage, and largest shares of false alarms, of studies with a false layer, and of falsely negligible ones: %
BOUNDS = {
    "normal": (94, 6, 9, 1),
    "log-normal": (84, 15, 26, 7),
    "t with 3 df": (94, 6, 9, 1),
    "5 % outliers on one side": (79, 21, 50, 11),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_of_sixteen_reviews(kind):
    values, families = made_up(kind, 16, 4000)
    found = {name: [float(number) for number in cell.split(", ")] for name, cell in rates(values, families).items()}
    covered, alarm, any_layer, false = BOUNDS[kind]
    assert found["covers: Student's, BCa"][0] >= covered
    assert found["false alarm: flips, t test"][0] <= alarm
    assert found["false alarm in any of the layers"][0] <= any_layer
    assert found["negligible: truly, falsely"][1] <= false
    assert found["negligible: truly, falsely"][0] >= 40
