"""Run every notebook as committed and write how long it takes and how much memory it needs.

    python benchmarks/notebooks.py                  # standard scale, writes benchmarks/results/notebooks.json
    python benchmarks/notebooks.py --only 04        # one notebook; the file keeps the others
    python benchmarks/notebooks.py --scale smoke    # prints only

Seconds are wall clock from kernel start to the last cell, with no exercise solved. The peak is the memory (PSS) of
the kernel and all its children together. The last line is JSON.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from machine import describe

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.notebooks import running

RESULT = Path(__file__).parent / "results" / "notebooks.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=("smoke", "standard", "full"), default="standard")
    parser.add_argument("--only", default="", metavar="NN", help="the notebooks whose names begin so")
    options = parser.parse_args()
    scale = os.environ["COURSE_SCALE"] = options.scale
    rows = json.loads(RESULT.read_text())["notebooks"] if options.only and RESULT.exists() else {}
    print("notebook                          seconds  peak MB")
    with tempfile.TemporaryDirectory() as home:
        os.environ["COURSE_HOME"] = home
        for path in running.NOTEBOOKS:
            if not path.name.startswith(options.only):
                continue
            run = running.execute(nbformat.read(path, as_version=4), cap_megabytes=2_000)
            rows[path.stem] = {"seconds": round(run.seconds), "peak_megabytes": round(run.peak_megabytes)}
            print(f"{path.stem:<33} {run.seconds:>7.0f}  {run.peak_megabytes:>7.0f}", flush=True)
    if scale == "standard":
        RESULT.write_text(json.dumps({"scale": scale, "machine": describe(), "notebooks": rows}, indent=1) + "\n")
    print(json.dumps({"total_seconds": sum(row["seconds"] for row in rows.values()), "notebooks": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
