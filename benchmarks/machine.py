"""What the machine is, and what this process takes of it."""

import os
import platform

# The package has no types.
import psutil  # type: ignore[import-untyped]


def machine_class() -> str:
    """The kind of machine this is, for those who read the figures later."""
    memory_gib = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory_gib:.0f} GiB, {platform.system()},"
        f" Python {platform.python_version()}"
    )


def resident_mb() -> float:
    """The memory of this process that is in RAM, mapped files included."""
    return float(psutil.Process().memory_info().rss) / 1e6
