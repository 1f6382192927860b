"""The applications: lines of their programs, what they show, how many times real time; and lines of the originals.

    python -m benchmarks.demos

Prints the tables of docs/guides/demos.md. Simulated seconds per second of processor time are those of `demo.run(2.0)`,
the best of four. Sizes of originals are those of the public sources: lines of all `.cpp` and `.h` files of an
application of RTQL8 (`src/apps`, commit 755e099), thousands of characters of `main.cpp` of a tutorial or an example of
DART.
"""

from __future__ import annotations

import time

from benchmarks.timing import machine, table
from kido import demos

SECONDS, ROUNDS = 2.0, 4
ORIGINALS = {
    "chain": "313 lines",
    "boxes": "481 lines",
    "hand": "616 lines",
    "motion_analysis": "498 lines",
    "ik": "445 lines",
    "balance": "826 lines",
    "hybrid": "626 lines",
    "multi_pendulum": "17.8 kB",
    "collisions": "23.3 kB",
    "dominoes": "22.8 kB",
    "biped_stand": "9.8 kB",
    "joint_constraints": "7.5 kB, without its controller",
    "box_stacking": "19.7 kB",
    "atlas_puppet": "31.5 kB, of which `human_puppet` has its part here",
}


def factor(name: str) -> float:
    """Simulated seconds per second of processor time."""
    least = float("inf")
    for _ in range(ROUNDS):
        demo = demos.load(name)
        demo.run(1 / 60)  # what is compiled or linked first
        start = time.process_time()
        demo.run(SECONDS)
        least = min(least, time.process_time() - start)
    return SECONDS / least


def size(name: str) -> tuple[str, str]:
    """Lines and thousands of characters of the program."""
    text = demos.path(name).read_text(encoding="utf-8")
    return str(len(text.splitlines())), f"{len(text) / 1000:.1f} kB"


def main() -> None:
    print(machine())
    rows = []
    for name in demos.names():
        what = demos.description(name).partition("\n")[0].rstrip(".")
        rows.append([f"`{name}`", size(name)[0], what, f"{factor(name):.2g}"])
    print(table(["application", "lines", "what it shows", "times real time"], rows))
    ports = [[f"`{n}`", " lines, ".join(size(n)), o] for n, o in ORIGINALS.items() if n in demos.names()]
    print(table(["port", "KIDO", "original"], ports))


if __name__ == "__main__":
    main()
