"""The default simulation: the estimate beside the joint likelihood, draw by draw.

Run ``python benchmarks/default_simulation.py [--replications 300] [--jobs 2]``; prints
the summary of `skanchor.studies.EXPERIMENTS["default"]` for three methods, and how far
ANCHOR is from the joint maximum likelihood, in standard errors.
"""

from __future__ import annotations

import argparse

import numpy as np

from skanchor.studies import EXPERIMENTS, run_study, study_table, summarize_study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    experiment = EXPERIMENTS["default"].only(("ANCHOR", "JointMLE", "JointBTL"))
    rows = [
        row
        for _, part in run_study(
            [experiment], options.replications, n_jobs=options.jobs
        )
        for row in part
    ]
    table = study_table(rows, [experiment])
    print(summarize_study(table, experiment.measures).T.to_string())
    wide = table.pivot(index="seed", columns="method")
    error = np.sqrt(wide["variance", "ANCHOR"])
    distance = (wide["error", "ANCHOR"] - wide["error", "JointMLE"]) / error
    ratio = wide["width", "ANCHOR"] / wide["width", "JointMLE"]
    print(
        f"|ANCHOR - MLE| in standard errors: {distance.abs().mean():.3f} mean, "
        f"{distance.std():.3f} sd; width over that of the MLE {ratio.mean():.3f}"
    )


if __name__ == "__main__":
    main()
