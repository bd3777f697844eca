"""Imported rows that go together by columns of any name, and columns that do not say it of all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matrix.stats import welch
from tests.cli.program import Matrix
from tests.cli.tables import write_csv
from tests.cli.test_import_unpaired import exported_again, studied

FILES = 20


def clustered(seed: int, *, spread: float = 1.0, clusters: int = 12, rows: int = 15) -> list[Any]:
    """Two equal variants, each with clusters of its own, whose rows are alike."""
    draws, found = random.Random(seed), list[Any]()
    for at in range(clusters):
        level = draws.gauss(0, spread)
        found += [[f"c{at:02}", "ab"[at % 2], level + draws.gauss(0, 1)] for _ in range(rows)]
    return found


def crossed(seed: int, *, groups: int = 12, units: int = 8) -> list[Any]:
    """Two variants that are equal over groups of units, and not within one."""
    draws, found = random.Random(seed), list[Any]()
    for group in range(groups):
        shift = draws.gauss(0, 1)
        for unit in range(units):
            base = draws.gauss(0, 1)
            for variant, more in (("a", 0.0), ("b", shift)):
                score = base + more + draws.gauss(0, 0.7)
                found.append([f"q{group}-{unit}", f"g{group}", variant, score])
    return found


def repeated(seed: int, *, shared: float) -> list[Any]:
    """Two variants that are equal, but in each of ten trials: its sessions go together."""
    draws, rows = random.Random(seed), list[Any]()
    for trial in range(10):
        for variant in "ab":
            level = draws.gauss(0, shared)
            rows += [
                [f"q{question}", trial, variant, level + draws.gauss(0, 6)]
                for question in range(30)
            ]
    return rows


@pytest.mark.parametrize("name", ["clinic", "Filiale", "machine", "hub_id", "day"])
def test_rows_that_go_together_count_once_whatever_they_go_by_is_called(
    here: Path, name: str
) -> None:
    rows = clustered(3)
    study = studied(here, "own", (name, "variant", "score"), rows)
    means = {
        side: [
            float(np.mean([score for cluster, _, score in rows if cluster == one]))
            for one in sorted({cluster for cluster, variant, _ in rows if variant == side})
        ]
        for side in "ab"
    }
    oracle, pair = welch(means["a"], means["b"]), study.verdict.comparisons[0]
    assert pair.sizes == (6, 6)
    assert pair.difference == pytest.approx(oracle.difference)
    assert exported_again(here, "own").verdict.comparisons == study.verdict.comparisons


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "made"),
    [
        (("machine", "variant", "score"), partial(clustered, clusters=24)),
        (("question", "machine", "variant", "score"), crossed),
        (("question", "trial", "variant", "score"), partial(repeated, shared=4.0)),
    ],
    ids=["rows", "pairs", "repeats"],
)
def test_equals_that_go_together_are_no_winners(
    here: Path, headers: Sequence[str], made: Callable[[int], list[Any]]
) -> None:
    won = [
        studied(here, f"c{seed}", headers, made(seed)).winner is not None for seed in range(FILES)
    ]
    assert sum(won) <= 4  # one in twenty: with five there is something wrong, in 997 of 1,000


@pytest.mark.slow
def test_a_column_that_says_nothing_of_scores_groups_nothing(here: Path) -> None:
    headers = ("machine", "variant", "score")
    grouped = 0
    for seed in range(FILES):
        study = studied(here, f"n{seed}", headers, clustered(seed, spread=0.0))
        grouped += "units" in study.rests_on
    assert grouped <= 2


@pytest.mark.parametrize("name", ["doc_id", "repo", "date", "machine"])
def test_pairs_that_go_together_count_once(here: Path, name: str) -> None:
    headers = ("question", name, "variant", "score")
    study = studied(here, "own", headers, crossed(5))
    assert "12 complete units" in study.sentence
    assert [one for one in study.caveats if f"Each question is of one {name}" in one]


def test_what_was_asked_of_several_variants_pairs_them(here: Path) -> None:
    draws, rows = random.Random(2), list[Any]()
    for prompt in range(12):
        shift = draws.gauss(0, 1)
        for variant, more in (("gpt", 0.0), ("claude", shift)):
            rows += [[f"ask {prompt}", variant, more + draws.gauss(0, 1)] for _ in range(20)]
    for name in ("prompt", "query", "request_id"):
        study = studied(here, name, (name, "model", "score"), rows)
        assert "12 complete units" in study.sentence
        assert f"paired by {name}" in study.rests_on


@pytest.mark.slow
@pytest.mark.parametrize("name", ["machine", "country"])
def test_variants_that_differ_otherwise_in_each_are_compared_by_it(here: Path, name: str) -> None:
    rows = [[row[1], row[2], row[3]] for row in crossed(5, units=30)]
    study = studied(here, "own", (name, "variant", "score"), rows)
    assert f"paired by {name}" in study.rests_on
    alike = [[row[0], row[1], random.Random(str(row)).gauss(0, 1)] for row in rows]
    study = studied(here, "alike", (name, "variant", "score"), alike)
    assert "not paired" in study.rests_on


def test_what_a_score_is_called_groups_nothing(here: Path) -> None:
    """A label that is made of the score goes with it by more than chance, and is no cause of it."""
    draws = random.Random(4)
    scores = [(variant, draws.choice([0.0, 0.5, 1.0])) for variant in "ab" for _ in range(60)]
    rows = [[f"{variant} {score} points", variant, score] for variant, score in scores]
    study = studied(here, "own", ("told", "variant", "score"), rows)
    assert "60 rows of a" in study.rests_on


@pytest.mark.slow
@pytest.mark.parametrize("blank", [1, 20])
def test_a_row_of_nobody_among_rows_of_people_is_asked_for(
    here: Path, matrix: Matrix, blank: int
) -> None:
    rows = clustered(3)
    for row in rows[:blank]:
        row[0] = ""
    write_csv(here / "r.csv", ("user_id", "variant", "score"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "user_id: is empty, and says whose the other rows are" in told
    assert not (here / "results").exists()
    assert matrix("import", "r.csv", "--unit", "none").code == 0


@pytest.mark.slow
def test_of_fewer_than_ten_owners_no_winner_is_named_but_of_their_units_alone(
    here: Path, matrix: Matrix
) -> None:
    headers = ("question", "document", "variant", "score")
    rows = [[*row[:3], row[3] + 2 * (row[2] == "b")] for row in crossed(1, groups=9)]
    study = studied(here, "own", headers, rows)
    assert study.winner is None
    assert [one for one in study.caveats if "there are 9, too few for a verdict about such" in one]
    made = matrix("import", "own.csv", "--unit", "question", "--run-id", "said")
    assert "Verdict: b beats a" in made.stdout
    told = " ".join(matrix("compare", "said").stdout.split())
    assert "what is said here is about these questions alone" in told
    assert "about these units alone" in told
    assert "and others that are chosen as they were" not in told


def test_a_scenario_of_one_variant_is_none(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", ("clinic", "variant", "score"), clustered(3))
    asked = matrix("import", "r.csv", "--scenario", "clinic")
    assert asked.code == 2
    assert "no 'clinic' is in two variants" in asked.stderr
    assert "--unit clinic" in asked.stderr


def test_a_row_that_sums_up_the_others_is_no_unit(here: Path, matrix: Matrix) -> None:
    rows: list[Sequence[object]] = [[f"q{at}", side, at % 3] for at in range(9) for side in "ab"]
    rows += [["Average", "a", 1], ["Average", "b", 1]]
    write_csv(here / "r.csv", ("question", "variant", "score"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert "found 'Average', which sums up other rows" in asked.stderr


def test_scores_of_two_files_are_written_alike(here: Path, matrix: Matrix) -> None:
    draws = random.Random(1)
    before = [[f"q{at}", f"{draws.randint(60, 80)}%"] for at in range(20)]
    after = [[f"q{at}", draws.randint(60, 80)] for at in range(20)]
    write_csv(here / "before.csv", ("question", "score"), before)
    write_csv(here / "after.csv", ("question", "score"), after)
    asked = matrix("import", "before.csv", "after.csv")
    assert asked.code == 2
    assert "after.csv: score: has no percent sign, and has one in another file" in asked.stderr


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_points_between_thousands_are_asked_for(here: Path, matrix: Matrix, delimiter: str) -> None:
    rows = [["q0", "a", "919"], ["q0", "b", "1.008"], ["q1", "a", "870"], ["q1", "b", "991"]]
    lines = [delimiter.join(row) for row in [["question", "variant", "score"], *rows]]
    (here / "r.csv").write_text("\n".join(lines))
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert "found '1.008' among whole numbers of as many digits" in " ".join(asked.stderr.split())
    (here / "r.csv").write_text("\n".join(lines).replace("919", "0.919").replace("870", "1"))
    assert matrix("import", "r.csv").code == 0


def test_weights_that_turn_a_difference_are_told(here: Path) -> None:
    draws, rows = random.Random(6), list[Any]()
    for at in range(100):
        rare = at < 12
        for variant, more in (("a", 4.0 * rare), ("b", 1.2 * (not rare))):
            rows.append([f"q{at}", "rare" if rare else "common", variant, more + draws.gauss(0, 1)])
    headers = ("question", "category", "variant", "score")
    study = studied(here, "own", headers, rows)
    told = "if every unit weighed alike, the difference of a and b would point the other way"
    assert study.winner == "a"
    assert [one for one in study.comparison.cautions if told in one]
    few = [row for row in rows if int(row[0][1:]) >= 5]
    study = studied(here, "few", headers, few)
    assert not [one for one in study.comparison.cautions if told in one]


def halves(models: Sequence[str], lead: float) -> list[list[list[Any]]]:
    """Two files of the same questions, the second worse by ``lead``, asked of the same models."""
    draws = random.Random(2)
    base = [draws.gauss(50, 10) for _ in range(20)]
    return [
        [
            [f"q{at}", model, base[at] - more + draws.gauss(0, 2)]
            for at in range(20)
            for model in models
        ]
        for more in (0.0, lead)
    ]


def test_each_file_is_a_variant_though_a_column_says_what_was_asked_in_both(
    here: Path, matrix: Matrix
) -> None:
    headers = ("question", "model", "score")
    for name, rows in zip(("before", "after"), halves(["gpt"], 6.0), strict=True):
        write_csv(here / f"{name}.csv", headers, rows)
    made = " ".join(matrix("import", "before.csv", "after.csv").stdout.split())
    assert "Verdict: before beats after" in made
    assert "model (the same in every file, each of which is a variant)" in made


def test_of_files_with_the_same_variants_it_is_asked_what_differs(
    here: Path, matrix: Matrix
) -> None:
    headers, files = ("question", "model", "score"), ("before.csv", "after.csv")
    for name, rows in zip(files, halves(["gpt", "claude"], 6.0), strict=True):
        write_csv(here / name, headers, rows)
    asked = matrix("import", *files)
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "files have the same values of model: say --variant file where each is a variant" in told
    both = ("--variant", "file", "--variant", "model")
    made = " ".join(matrix("import", *files, *both, "--run-id", "both").stdout.split())
    assert "variant file, model (2 x 2)" in made
    assert "Verdict: before beats after" in made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trial", "epoch", "attempt"])
def test_repeats_that_go_together_count_once(here: Path, name: str) -> None:
    headers = ("question", name, "variant", "score")
    study = studied(here, "own", headers, repeated(3, shared=4.0))
    assert "10 complete units" in study.sentence
    told = f"what variants differ by goes together by more than chance in each {name}"
    assert [one for one in study.caveats if told in one]
    study = studied(here, "chance", headers, repeated(3, shared=0.0))
    assert "30 complete units" in study.sentence


@pytest.mark.slow
def test_who_takes_raters_for_repeats_is_told_that_it_is_about_these(
    here: Path, matrix: Matrix
) -> None:
    rows = [[f"q{row[0]}", *row[1:]] for row in repeated(3, shared=1.0)]
    write_csv(here / "r.csv", ("item", "rater", "variant", "score"), rows)
    made = matrix("import", "r.csv", "--repeat", "rater", "--run-id", "it")
    assert made.code == 0, made
    told = " ".join(matrix("compare", "it").stdout.split())
    assert "about these raters alone" in told
    assert "and others that are chosen as they were" not in told


def test_copies_of_all_rows_are_asked_for(here: Path, matrix: Matrix) -> None:
    draws = random.Random(1)
    rows = [[side, draws.randint(1, 90), draws.randint(100, 999)] for side in "ab" * 20]
    write_csv(here / "r.csv", ("variant", "score", "latency_ms"), rows * 3)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "each is there 3 times or a multiple of it; take out what is a copy, or say" in told
    assert "--unit none" in told
    assert matrix("import", "r.csv", "--unit", "none").code == 0


@pytest.mark.parametrize("paired", [True, False])
def test_shares_beside_percentages_are_no_difference(
    here: Path, matrix: Matrix, paired: bool
) -> None:
    draws = random.Random(1)
    for name, scale in (("jan", 100), ("feb", 1)):
        rows = [
            [f"q{at * (1 if paired else scale)}", draws.uniform(0.7, 0.9) * scale]
            for at in range(20)
        ]
        write_csv(here / f"{name}.csv", ("question", "accuracy"), rows)
    asked = matrix("import", "jan.csv", "feb.csv")
    assert asked.code == 2
    assert (
        "scores of feb are from 0 to 1 and those of jan about a hundred times as large"
        in " ".join(asked.stderr.split())
    )


@pytest.mark.slow
def test_units_are_the_same_however_a_program_writes_their_number(
    here: Path, matrix: Matrix
) -> None:
    draws = random.Random(1)
    write_csv(here / "a.csv", ("id", "score"), [[at + 5, draws.random()] for at in range(20)])
    write_csv(
        here / "b.csv", ("id", "score"), [[f"{at + 5}.0", draws.random()] for at in range(20)]
    )
    assert "unit id (20)" in " ".join(matrix("import", "a.csv", "b.csv").stdout.split())
    write_csv(
        here / "b.csv", ("id", "score"), [[f"{at + 5:03}", draws.random()] for at in range(20)]
    )
    asked = matrix("import", "a.csv", "b.csv")
    assert asked.code == 2
    assert (
        "id: '5' and '005', in two variants, differ in nothing but case, blanks or zeros"
        in " ".join(asked.stderr.split())
    )


def test_names_of_scores_are_no_repeats(here: Path, matrix: Matrix) -> None:
    rows = [
        [f"q{at}", side, metric, at]
        for at in range(12)
        for side in "ab"
        for metric in ("acc", "ms")
    ]
    write_csv(here / "r.csv", ("id", "model", "metric", "value"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "metric tells these rows apart, and what was measured: keep the rows of one" in told
    assert "--repeat metric" not in told


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("Bearbeitungszeit (min)", True),
        ("response time (min)", True),
        ("wait_s", True),
        ("false_positives", True),
        ("incidents", True),
        ("accuracy_loss", True),
        ("accuracy (min)", False),
        ("score_min", False),
        ("blocked", False),
        ("watch_minutes", False),
        ("minutes_on_page", False),
        ("page_load_ms", True),
    ],
)
def test_which_way_a_score_counts_goes_by_what_it_is_called(
    here: Path, matrix: Matrix, name: str, lower: bool
) -> None:
    rows = [[f"q{at}", side, at] for at in range(12) for side in "ab"]
    write_csv(here / "r.csv", ("id", "model", name), rows)
    made = matrix("import", "r.csv", "--score", name).stdout
    assert f"{'less' if lower else 'more'} is better; " in made


@pytest.mark.slow
def test_power_counts_the_rows_of_a_unit_that_there_are(here: Path, matrix: Matrix) -> None:
    draws, rows = random.Random(1), list[Any]()
    for side in "ab":
        for user in range(30):
            rows += [[f"{side}{user}", side, draws.gauss(0, 1)] for _ in range(1 + user % 9)]
    write_csv(here / "r.csv", ("user", "variant", "score"), rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    told = " ".join(matrix("power", "--from", "it", "--effect", "0.4").stdout.split())
    assert len(rows) / 60 == pytest.approx(4.7)
    assert "5 rows per unit" in told


@pytest.mark.parametrize("name", ["judged_by", "rater", "labelling_desk"])
@pytest.mark.parametrize("some", [False, True])
def test_raters_of_one_variant_count_once_beside_the_items_that_they_rated(
    here: Path, name: str, some: bool
) -> None:
    draws, rows = random.Random(7), list[Any]()
    items = [draws.gauss(0, 1) for _ in range(20)]
    for variant in "ab":
        for rater in range(12):
            level = draws.gauss(0, 1)
            for item, base in enumerate(items):
                if not some or (item + rater) % 3:
                    score = base + level + draws.gauss(0, 0.5)
                    rows.append([f"i{item}", f"{variant}{rater}", variant, score])
    study = studied(here, "own", ("item", name, "variant", "score"), rows)
    assert study.verdict.comparisons[0].sizes == (12, 12)
    told = f"Each {name} is in one variant, with rows of several item"
    assert [one for one in study.caveats if told in one]


@pytest.mark.slow
def test_days_that_only_a_moment_tells_are_asked_for(here: Path, matrix: Matrix) -> None:
    draws, rows = random.Random(8), list[Any]()
    for day in range(1, 21):
        level = draws.gauss(0, 1)
        for hour in range(20):
            moment = f"2026-05-{day:02} {hour:02}:{draws.randint(10, 59)}:07"
            rows.append([moment, "ab"[day % 2], level + draws.gauss(0, 1)])
    write_csv(here / "r.csv", ("created_at", "variant", "score"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "created_at: rows of one day go together by more than chance" in told
    by_day = [[moment[:10], *row] for moment, *row in rows]
    assert (
        "not paired: each day counts once"
        in studied(here, "day", ("day", "variant", "score"), by_day).rests_on
    )
    alike = [[row[0], row[1], draws.gauss(0, 1)] for row in rows]
    assert "not paired" in studied(here, "al", ("created_at", "variant", "score"), alike).rests_on


@pytest.mark.parametrize("mark", [-9, -99, -999])
def test_what_stands_for_no_score_is_asked_for(here: Path, matrix: Matrix, mark: int) -> None:
    rows = [[f"q{at}", model, 1 + at % 5] for at in range(30) for model in "ab"]
    rows[4][2] = rows[8][2] = mark
    write_csv(here / "r.csv", ("id", "model", "score"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert f"2 scores are {mark}, and no other is below 1; leave cells without a score" in " ".join(
        asked.stderr.split()
    )


@pytest.mark.parametrize("name", ["Gesamtsumme", "ALL", "macro avg", "Total général", "Promedio"])
def test_more_names_of_sums_are_no_units(here: Path, matrix: Matrix, name: str) -> None:
    rows = [[f"q{at}", side, at % 3] for at in range(12) for side in "ab"]
    write_csv(here / "r.csv", ("question", "variant", "score"), [*rows, [name, "a", 1]])
    assert "which sums up other rows" in matrix("import", "r.csv").stderr


def test_both_ways_at_once_are_none(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", ("id", "model", "score"), [["q", "a", 1], ["q", "b", 2]])
    asked = matrix("import", "r.csv", "--lower-is-better", "--higher-is-better")
    assert asked.code == 2
    assert "--lower-is-better: is given with --higher-is-better" in asked.stderr


def test_who_has_one_row_each_may_be_unknown(here: Path) -> None:
    draws = random.Random(3)
    rows = [
        [f"q{at}", f"s{side}{at}", side, draws.gauss(0, 1)] for at in range(20) for side in "ab"
    ]
    rows[3][1] = ""
    headers = ("question", "session_id", "variant", "score")
    assert "20 complete units" in studied(here, "own", headers, rows).sentence


def test_a_file_without_a_score_is_told_so_whatever_groups_its_rows(
    here: Path, matrix: Matrix
) -> None:
    rows = [[f"q{at}", f"p{at % 12}", side, at] for at in range(60) for side in "ab"]
    write_csv(here / "r.csv", ("question", "place", "model", "goodness"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert "no column of the usual names for the score" in asked.stderr


@pytest.mark.parametrize(("lost", "told"), [(12, "Of b 12 of 120 rows"), (0, "")])
def test_rows_that_failed_and_are_not_there_make_no_settled_winner(
    here: Path, matrix: Matrix, lost: int, told: str
) -> None:
    draw = random.Random(7)
    rows = [
        [f"q{at}", name, round(draw.gauss(0.5 + more, 0.1), 3), "ok"]
        for at in range(120)
        for name, more in (("a", 0.0), ("b", 0.2))
        if name == "a" or at >= lost
    ]
    write_csv(here / "r.csv", ("question", "variant", "score", "status"), rows)
    assert "b beats a by" in matrix("import", "r.csv", "--run-id", "it").stdout
    text = " ".join(matrix("compare", "it").stdout.split())
    assert ("but fragile" in text) == bool(lost)
    assert ("look at what has no score before choosing b" in text) == bool(lost)
    assert told in text
    assert ("are not there, of a 0" in text) == bool(lost)


@pytest.mark.parametrize(("known", "fragile"), [(20, True), (60, False)])
def test_a_rival_that_is_out_for_want_of_scores_leaves_no_settled_winner(
    here: Path, matrix: Matrix, known: int, fragile: bool
) -> None:
    draw = random.Random(3)
    rows = []
    for at in range(60):
        base = draw.gauss(60, 8)
        for name, more in (("a", 0.0), ("b", 5.0), ("c", 12.0 if fragile else -12.0)):
            score = round(base + more + draw.gauss(0, 6), 2)
            rows.append([f"q{at}", name, "" if name == "c" and at >= known else score])
    write_csv(here / "r.csv", ("question", "variant", "score"), rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    text = " ".join(matrix("compare", "it").stdout.split())
    assert "b beats " in text
    assert ("c is out, as too few of its sessions have a score" in text) == fragile
    assert ("but fragile" in text) == fragile
    assert ("had those of c gone as well as can be" in text) == fragile
    assert "b would still win" not in text
    assert ("better than each that is not out by more than chance" in text) == fragile
