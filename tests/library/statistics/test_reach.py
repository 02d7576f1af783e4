"""What statistics answer to: an edit reruns a table where the table needs the edited code, and nowhere else."""

import pytest

from loaded_rules import reached_by


@pytest.mark.parametrize(
    ("module", "needed", "others"),
    [
        ("statistics.contrasts", "statistics.resampling statistics.estimates", "statistics.correlation"),
        ("statistics.depth", "statistics.layers", "statistics.correlation"),
        ("statistics.first_token", "statistics.correlation", "metrics.spectral statistics.depth"),
        ("statistics.sensitivity", "statistics.causes", "statistics.resampling"),
        ("statistics.causes", "", "statistics.sensitivity measures.spectra"),
        ("claims.judgement", "claims.evidence names.numbers", "statistics.contrasts"),
        ("claims.verdicts", "", "claims.evidence"),
    ],
)
def test_a_table_reaches_what_it_needs_and_nothing_else(module, needed, others):
    reached = reached_by("tabulate", module)
    assert reached >= set(needed.split())
    assert reached.isdisjoint(others.split())
