"""An edit of a module reruns the rules that reach it by import: what rules of some stages are kept from reaching."""

import pytest

from loaded_rules import loaded_rules, named_modules, reached_by, script_of


def modules_of(name: str) -> set[str]:
    """The modules of which an edit reruns a rule."""
    rule = loaded_rules()[name]
    return reached_by(script_of(rule).stem, *named_modules(rule))


def within(modules: set[str], *packages: str) -> set[str]:
    return {module for module in modules if module.split(".")[0] in packages}


@pytest.mark.parametrize("name", loaded_rules())
def test_no_rule_reaches_how_jobs_run_or_what_configures_them(name):
    assert within(modules_of(name), "run", "config") == set()


def test_a_correlation_needs_no_formula_of_a_metric():
    reached = modules_of("correlate_first_token")
    assert within(reached, "measures") == set()
    assert reached.isdisjoint({f"metrics.{name}" for name in ("spectral", "geometry", "attention", "catalogue")})


def test_the_figure_of_sensitivity_needs_the_names_of_causes_alone():
    modules = modules_of("plot_sensitivity")
    names = {f"names.{name}" for name in ("columns", "numbers", "variants", "verdicts")}
    assert modules - within(modules, "figures") <= {"statistics.causes"} | names


def test_a_figure_reaches_no_other_figure():
    """Those of one module apart."""
    named = {name: named_modules(rule)[0] for name, rule in loaded_rules().items() if name.startswith("plot_")}
    for name, module in named.items():
        assert {*named.values()} & modules_of(name) == {module}, name


@pytest.mark.parametrize("package", ["measures", "tables", "statistics"])
def test_what_makes_one_table_does_not_reach_what_makes_another_unless_it_computes_with_it(package):
    """The modules that rules of a stage name; what is of a common length is measured and tabulated as the whole is."""
    named = {module: name for name, rule in loaded_rules().items() for module in named_modules(rule)}
    named = {module: name for module, name in named.items() if module.startswith(f"{package}.")}
    allowed = {
        "measures.common_length": {"measures.spectra", "measures.geometry"},
        "measures.pooled": {"measures.geometry"},
        "measures.sinks": {"measures.attention"},  # uniform attention
        "tables.common_length": {"tables.metrics"},
        "statistics.causes_in_words": {"statistics.mechanism", "statistics.predictions"},  # the tables that it words
        "tables.consequences": {"tables.intervened"},  # reviews over parts of the depth
    }
    for module, name in named.items():
        others = named.keys() - {module} - allowed.get(module, set())
        assert modules_of(name).isdisjoint(others), name
