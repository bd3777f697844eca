"""Imported pairs whose rows are somebody's: people of one variant, and what several units share."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matrix as python_api
from matrix.stats import welch
from tests.cli.program import Matrix
from tests.cli.tables import write_csv
from tests.cli.test_import_unpaired import exported_again, studied

ANSWERED = ("question_id", "user_id", "variant", "score")


def answered(people: int = 12, questions: int = 15, seed: int = 1) -> list[list[Any]]:
    """Two equal variants: each person answers all questions of one, some people better."""
    draws, rows = random.Random(seed), list[list[Any]]()
    for variant in "ab":
        for person in range(people):
            level = draws.gauss(50, 6)
            rows += [
                [f"q{question}", f"{variant}{person}", variant, level + draws.gauss(0, 3)]
                for question in range(questions)
            ]
    return rows


def means_of(rows: Iterable[Sequence[Any]]) -> dict[str, list[float]]:
    found: dict[str, dict[str, list[float]]] = {"a": {}, "b": {}}
    for _, person, variant, score in rows:
        found[variant].setdefault(person, []).append(score)
    return {one: [float(np.mean(own)) for own in each.values()] for one, each in found.items()}


@pytest.mark.parametrize("owner", ["user_id", "participant", "rater", "kunde"])
def test_people_of_one_variant_each_count_once_whatever_they_were_asked(
    here: Path, owner: str
) -> None:
    rows = answered()
    headers = [owner if one == "user_id" else one for one in ANSWERED]
    study = studied(here, "nested", headers, rows)
    own = means_of(rows)
    oracle, pair = welch(own["a"], own["b"]), study.verdict.comparisons[0]
    assert pair.sizes == (12, 12)
    assert pair.difference == pytest.approx(oracle.difference)
    told = f"Each {owner} is in one variant, with rows of several question_id"
    assert [one for one in study.caveats if told in one and "--unit question_id" in one]


@pytest.mark.slow
def test_equals_that_people_tell_apart_are_no_winners(here: Path) -> None:
    won = sum(
        studied(here, f"null{seed}", ANSWERED, answered(seed=seed)).winner is not None
        for seed in range(8)
    )
    assert won <= 2
    path = write_csv(here / "said.csv", ANSWERED, answered())
    said = python_api.import_results(
        path, unit="question_id", run_id="said", results=here / "results"
    ).compare()
    assert "15 complete units" in said.sentence
    assert [one for one in said.caveats if "is about these question_ids alone" in one]


def test_with_one_rater_of_each_nobody_can_tell_them_from_the_variants(here: Path) -> None:
    rows = [[row[0], f"r{row[2]}", *row[2:]] for row in answered(people=1, questions=30)]
    headers = ("question_id", "rater", "variant", "score")
    study = studied(here, "alone", headers, rows)
    assert [one for one in study.caveats if "what of these nobody can tell" in one]


def test_pairs_of_one_owner_count_once(here: Path) -> None:
    draws, rows = random.Random(4), list[list[Any]]()
    for document in range(12):
        shift = draws.gauss(0, 4)
        for question in range(10):
            for variant, more in (("a", 0.0), ("b", shift)):
                score = 50 + more + draws.gauss(0, 1)
                rows.append([f"d{document}q{question}", f"d{document}", variant, score])
    headers = ("question_id", "document_id", "variant", "score")
    study = studied(here, "documents", headers, rows)
    assert "12 complete units" in study.sentence
    scores = np.array([row[3] for row in rows]).reshape(12, 10, 2).mean(axis=1)
    assert abs(study.verdict.comparisons[0].difference) == pytest.approx(
        abs(float(np.diff(scores, axis=1).mean()))
    )
    assert [one for one in study.caveats if "Each question_id is of one document_id" in one]


@pytest.mark.parametrize(("documents", "told"), [(1, 40), (3, 3)])
def test_a_few_owners_are_no_sample_of_others(here: Path, documents: int, told: int) -> None:
    """One has them all, so that nothing can be told of others, and nobody takes it for a sample."""
    draws = random.Random(5)
    rows = [
        [f"q{question}", f"d{question % documents}", variant, draws.gauss(0, 1)]
        for question in range(40)
        for variant in "ab"
    ]
    headers = ("question_id", "document_id", "variant", "score")
    study = studied(here, "few", headers, rows)
    assert f"{told} complete" in study.rests_on
    assert (study.verdict.kind == "not_enough_data") is (documents == 3)


@pytest.mark.slow
def test_people_and_questions_that_are_crossed_are_asked_for_what_the_claim_is_about(
    here: Path, matrix: Matrix
) -> None:
    draws = random.Random(2)
    rows = [
        [f"q{question}", f"u{person}", variant, draws.gauss(0, 1)]
        for question in range(12)
        for person in range(9)
        for variant in "ab"
    ]
    write_csv(here / "r.csv", ANSWERED, rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "--unit user_id --repeat question_id is for a verdict about such a user_id" in told
    flags = ("--unit", "user_id", "--repeat", "question_id", "--run-id", "it")
    assert "9 complete units" in " ".join(matrix("import", "r.csv", *flags).stdout.split())


def test_numbers_of_sorted_rows_are_told_though_they_are_not_quite_in_order(here: Path) -> None:
    draws, rows = random.Random(3), list[list[Any]]()
    for variant in "ab":
        latent = sorted(draws.gauss(0, 1) for _ in range(60))
        rows += [[at, variant, one + draws.gauss(0, 0.7)] for at, one in enumerate(latent, 1)]
    told = studied(here, "sorted", ("id", "model", "score"), rows).caveats
    assert [one for one in told if "scores rise with id in every variant" in one]
    draws.shuffle(scores := [row[2] for row in rows])
    rows = [[*row[:2], score] for row, score in zip(rows, scores, strict=True)]
    told = studied(here, "mixed", ("id", "model", "score"), rows).caveats
    assert not [one for one in told if "scores rise" in one or "scores fall" in one]


@pytest.mark.parametrize("mark", [-1, 999])
def test_marks_for_no_score_are_told(here: Path, mark: int) -> None:
    rows = [[f"q{at}", model, 1 + at % 5] for at in range(30) for model in "ab"]
    assert studied(here, "own", ("id", "model", "score"), rows).caveats == ()
    rows[4][2] = rows[8][2] = mark
    told = studied(here, "marked", ("id", "model", "score"), rows).caveats
    assert [one for one in told if f"2 scores are {mark}, all others are from 1 to 5" in one]


def test_variants_on_scales_of_their_own_are_told(here: Path) -> None:
    draws = random.Random(8)
    rows = [
        [f"q{at}", model, draws.random() * scale]
        for at in range(30)
        for model, scale in (("a", 1), ("b", 15))
    ]
    told = studied(here, "scales", ("id", "model", "score"), rows).caveats
    assert [one for one in told if "see that both are on one scale" in one]


def test_topics_that_are_divided_otherwise_among_samples_are_told(here: Path) -> None:
    draws, rows = random.Random(9), list[list[Any]]()
    for model, easy in (("a", 0.8), ("b", 0.2)):
        for _ in range(200):
            kind = "easy" if draws.random() < easy else "hard"
            rows.append([model, kind, int(draws.random() < (0.9 if kind == "easy" else 0.3))])
    told = studied(here, "mix", ("model", "difficulty", "correct"), rows).caveats
    assert [one for one in told if "difficulty is not divided alike" in one]


@pytest.mark.slow
def test_what_a_verdict_is_read_with_survives_an_export(here: Path) -> None:
    before = studied(here, "before", ANSWERED, answered())
    after = exported_again(here, "before")
    assert after.caveats == before.caveats
    assert after.sentence == before.sentence


def test_names_that_differ_in_case_alone_are_refused(here: Path, matrix: Matrix) -> None:
    rows = [[f"q{at}", "GPT-4" if at % 7 else "gpt-4", at % 3] for at in range(40)]
    write_csv(here / "r.csv", ("id", "model", "score"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert "differ in nothing but case or blanks" in " ".join(asked.stderr.split())


def test_a_unit_costs_what_its_rows_did_however_often_they_were_repeated(here: Path) -> None:
    rows = [[f"q{at}", "a", at % 3, 0.01] for at in range(20)]
    rows += [[f"q{at}", "b", (at + 1) % 3, 0.01] for at in range(20) for _ in range(3)]
    study = studied(here, "unequal", ("id", "model", "score", "cost_usd"), rows)
    assert study.settling.round_nano == 40_000_000
    found = python_api.power(pilot="unequal", effect=1.0, results=here / "results")
    assert found.needed is not None
    assert found.needed.sessions == 4 * found.needed.rounds.total
    assert found.needed.cost_nano == 40_000_000 * found.needed.rounds.total
