"""Numbers as figures write them."""


def short_number(value: float, signed: bool = False) -> str:
    """Two significant digits, or three from 100 on and between .1 and 1: `−0.012`, `0.653`, `+1.4`, `2.1e−5`."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.9995e-3 or size >= 99_950:
        digits, _, exponent = f"{value:.1e}".partition("e")
        text = f"{digits}e{int(exponent)}"
    elif size >= 99.5:
        text = f"{value:.0f}"
    elif 0.0995 <= size < 1:
        text = f"{value:.3f}"
    else:
        text = f"{value:#.2g}".rstrip(".")
    return ("+" if signed and value > 0 else "") + text.replace("-", "−")
