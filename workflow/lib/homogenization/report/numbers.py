"""Numbers as people read them."""

import numpy as np

_SMALLEST_SHOWN = 1e-4


def typeset(number: str) -> str:
    """A formatted number with a true minus sign and a short exponent: `-1.5e-05` becomes `−1.5e−5`."""
    digits, _, exponent = number.partition("e")
    return (f"{digits}e{int(exponent)}" if exponent else digits).replace("-", "−")


def significant(value: float, digits: int = 3) -> str:
    """A value to its significant digits, without trailing zeros: `−0.012`, `1.5e−5`."""
    return typeset(f"{value:.{digits}g}")


def probability(value: float) -> str:
    """A p or q to two significant digits: `.0003`; `< .0001` below that, and `1`."""
    if value < _SMALLEST_SHOWN:
        return "< .0001"
    return np.format_float_positional(value, precision=2, fractional=False, trim="-").removeprefix("0")


def share_in_words(share: float) -> str:
    """A share in percent, to two significant digits and two decimals, rounded once: `−3.1 %`, `0.03 %`, `120 %`."""
    percent = 100 * share
    if abs(percent) >= 99.5:
        return typeset(f"{percent:.0f} %")
    # below 0.1 %, two decimals are fewer digits than two significant ones
    number = np.format_float_positional(percent, precision=2, fractional=abs(percent) < 0.1, trim="-")
    return typeset(number.replace("-0", "0") if float(number) == 0 else number) + " %"
