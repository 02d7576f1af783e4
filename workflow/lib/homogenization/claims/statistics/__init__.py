"""The statistics that a claim can name: a module each, with a class of the module's name in CamelCase.

A new module is a new statistic: its keys, how it is measured and what it is called stand there alone.
"""

from importlib import import_module
from pkgutil import iter_modules

from homogenization.claims.statistic import Statistic

STATISTICS: dict[str, type[Statistic]] = {
    name: getattr(import_module(f"{__name__}.{name}"), name.title().replace("_", ""))
    for _, name, _ in iter_modules(__path__)
}
