"""What a check of `doctor` found, and how it is told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found. With a remedy although all is right, it is only a note."""

    name: str
    ok: bool
    finding: str
    remedy: str | None = None

    def __str__(self) -> str:
        mark = "FAIL" if not self.ok else "note" if self.remedy else "ok"
        told = f"{mark:<4}  {self.name}: {self.finding}"
        return f"{told}\n      -> {self.remedy}" if self.remedy else told
