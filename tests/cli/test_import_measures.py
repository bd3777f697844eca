"""Imported tables with a row for each score: what was measured is in a column."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Matrix
from tests.cli.tables import write_csv

MEANS = {"helpfulness": (0.62, 0.60), "hallucination": (0.20, 0.36)}


def traces(
    name: str, *, units: int = 60, paired: bool = False
) -> tuple[tuple[str, ...], list[Any]]:
    """Two scores of each trace, which is one variant's, or of each question in both."""
    draws, rows = random.Random(5), list[Any]()
    for at in range(units):
        for place, side in enumerate("ab") if paired else [(at % 2, "ab"[at % 2])]:
            for measure, means in MEANS.items():
                rows.append([f"t{at}", side, measure, means[place] + draws.gauss(0, 0.05)])
    return ("trace_id", "variant", name, "score"), rows


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", ["metric", "criterion", "score_name", "name", "type", "key"])
def test_scores_of_several_kinds_are_asked_for(
    here: Path, matrix: Matrix, name: str, paired: bool
) -> None:
    write_csv(here / "r.csv", *traces(name, paired=paired))
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert f"pivot_table(index=[...], columns='{name}', values=...)" in told
    assert not (here / "results").exists()


def test_so_they_are_of_repeats_that_nothing_numbers(here: Path, matrix: Matrix) -> None:
    headers, rows = traces("metric", paired=True)
    again = [[*row[:3], row[3] + 0.01 * at] for row in rows for at in range(3)]
    write_csv(here / "r.csv", headers, again)
    told = " ".join(matrix("import", "r.csv").stderr.split())
    assert "metric says what was measured (helpfulness, hallucination)" in told
    numbered = [[*row, at] for row in rows for at in range(3)]
    write_csv(here / "n.csv", (*headers, "trial"), numbered)
    assert "metric says what was measured (helpfulness, hallucination)" in " ".join(
        matrix("import", "n.csv").stderr.split()
    )


def test_so_they_are_without_any_unit(here: Path, matrix: Matrix) -> None:
    headers, rows = traces("metric")
    write_csv(here / "r.csv", headers[1:], [row[1:] for row in rows])
    told = " ".join(matrix("import", "r.csv").stderr.split())
    assert "metric says what was measured (helpfulness, hallucination)" in told


def test_whoever_is_alike_in_each_unit_is_asked_for(here: Path, matrix: Matrix) -> None:
    draws = random.Random(6)
    rows = [
        [f"q{at}", side, language, draws.random()]
        for at in range(20)
        for side in "ab"
        for language in ("de", "en")
        for _ in range(2)
    ]
    write_csv(here / "r.csv", ("question", "variant", "language", "score"), rows)
    told = " ".join(matrix("import", "r.csv").stderr.split())
    assert "language differs among such rows: say --repeat language" in told


def test_one_measure_is_no_matter_and_a_scale_may_be_shared(here: Path, matrix: Matrix) -> None:
    headers, rows = traces("metric", paired=True)
    write_csv(here / "one.csv", headers, [row for row in rows if row[2] == "helpfulness"])
    assert matrix("import", "one.csv").code == 0
    named = [[f"{row[0]}-{row[2]}", *row[1:]] for row in rows]
    write_csv(here / "two.csv", headers, named)
    assert "metric says what was measured" in " ".join(matrix("import", "two.csv").stderr.split())
    assert matrix("import", "two.csv", "--scenario", "metric").code == 0


def test_names_and_types_of_what_was_asked_are_no_measures(here: Path, matrix: Matrix) -> None:
    draws = random.Random(7)
    rows = [
        [f"q{at}", side, f"name {at}", ("easy", "hard")[at % 2], draws.random()]
        for at in range(40)
        for side in "ab"
    ]
    write_csv(here / "r.csv", ("question", "variant", "name", "type", "score"), rows)
    assert matrix("import", "r.csv").code == 0
