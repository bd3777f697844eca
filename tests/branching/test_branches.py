"""Branches: seeds, pairs, and the verdict on moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix import api
from matrix.api import Run
from matrix.model.seeds import derive_seed
from tests.branching.conftest import COUNTER, played
from tests.branching.looking import ids, up_to

VARIANTS = {"step": [1, 4]}


@pytest.fixture(scope="module")
def one(counter: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ten repeats of two variants from one moment."""
    return counter.branch(
        ids(counter)[0],
        turn=3,
        variants=VARIANTS,
        results=tmp_path_factory.mktemp("one"),
        executor="in-process",
    )


@pytest.fixture(scope="module")
def many(counter: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two repeats of two variants from eighteen moments, three in each of six sessions."""
    return counter.branch(
        where="events.kind == 'counted' and events.turn >= 2 and events.turn <= 4",
        variants=VARIANTS,
        times=2,
        results=tmp_path_factory.mktemp("many"),
        executor="in-process",
    )


@pytest.mark.slow
def test_variants_share_seeds_and_repeats_have_their_own(one: Run, counter: Run) -> None:
    rows = one.sessions()
    assert len(rows) == 20
    assert (rows.groupby("repeat")["seed"].nunique() == 1).all()
    assert (rows.groupby("repeat")["step"].nunique() == 2).all()
    seeds = set(rows["seed"])
    parent = counter.session(ids(counter)[0]).plan.seed
    assert seeds == {derive_seed("branch", parent, 3, repeat) for repeat in range(1, 11)}
    assert not seeds & set(counter.sessions()["seed"]), "never the parent's own continuation"


def test_repeats_of_a_variant_come_out_differently(one: Run) -> None:
    scores = one.sessions().groupby("step")["score"].nunique()
    assert list(scores) == [10, 10]


@pytest.mark.slow
def test_everything_before_the_moment_is_the_parents(many: Run, counter: Run) -> None:
    rows = many.sessions()
    assert set(rows["parent_turn"]) == {1, 2, 3}
    for child, parent, turn in zip(
        rows["session_id"], rows["parent_session_id"], rows["parent_turn"], strict=True
    ):
        kept = up_to(many.session(child), turn)
        assert kept == up_to(counter.session(parent), turn)
        assert len(kept) == turn + 1


@pytest.fixture(scope="module")
def uneven(counter: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same, of three moments in some sessions and of one in the others."""
    return counter.branch(
        where="events.kind == 'counted' and events.turn >= 2 and events.turn <= 4 and "
        "(events.turn == 2 or sessions.round < 2)",
        variants=VARIANTS,
        times=2,
        results=tmp_path_factory.mktemp("uneven"),
        executor="in-process",
    )


@pytest.mark.slow
@pytest.mark.parametrize("branched", ["many", "uneven"])
def test_moments_of_one_session_are_averaged_as_they_are_no_independent_samples(
    branched: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(branched)
    comparison = run.compare()
    verdict, frame = comparison.verdict, run.sessions()
    parents = frame["parent_session_id"].nunique()
    assert verdict.rounds_used == verdict.rounds_planned == parents == 6
    assert (branched == "uneven") == (len(frame) < 18 * 2 * 2)
    means = frame.groupby(["parent_session_id", "step"])["score"].mean().unstack()
    assert comparison.rows[0].mean == pytest.approx(means["1"].mean())
    (pair,) = verdict.comparisons
    differences = means["4"] - means["1"]
    assert pair.difference == pytest.approx(differences.mean())
    assert pair.se == pytest.approx(differences.std() / 6**0.5)
    assert "6 complete parent sessions so far, and at least 10 are needed" in comparison.sentence
    assert "each averaged over up to 3 moments and 2 repeats" in comparison.rests_on
    assert (verdict.pairs_errored, verdict.pairs_unscored) == (0, 0)


def test_of_one_moment_repeats_are_units_and_the_verdict_says_what_it_is_about(one: Run) -> None:
    comparison = one.compare()
    assert comparison.verdict.rounds_used == 10
    assert "10 complete repeats" in comparison.sentence
    assert "about this checkpoint, not others like it" in comparison.rests_on
    (pair,) = comparison.verdict.comparisons
    assert pair.difference is not None
    assert pair.difference > 1


@pytest.mark.slow
def test_a_branch_under_a_cap_keeps_to_it_and_can_be_resumed(counter: Run, tmp_path: Path) -> None:
    from matrix import resume
    from matrix.model.documents.overrides import from_flags

    cap = {"at_cap": "spend-all", "max_cost": 0.0005, "open_sessions": 2}
    capped = counter.branch(
        ids(counter)[0],
        turn=3,
        variants=VARIANTS,
        results=tmp_path,
        run_id="capped",
        executor="in-process",
        overrides=from_flags(cap),
    )
    assert (capped.status, capped.file.end_reason) == ("incomplete", "cap")
    assert capped.frame("calls")["cost_nano"].sum() <= 500_000
    assert len(capped.sessions()) == 20
    done = resume(
        "capped", results=tmp_path, executor="in-process", overrides=from_flags({"max_cost": 1})
    )
    assert done.status == "complete"
    free = counter.branch(
        ids(counter)[0], turn=3, variants=VARIANTS, results=tmp_path, executor="in-process"
    )
    columns = ["session_id", "seed", "outcome", "turns", "score", "cost_nano", "changed", "repeat"]
    one, other = (
        run.sessions()[columns].sort_values("session_id", ignore_index=True) for run in (done, free)
    )
    assert one.equals(other)


@pytest.mark.slow
def test_a_branch_of_a_run_that_stops_early_is_played_whole_and_looked_at_once(
    tmp_path: Path,
) -> None:
    early = {"stop": "when-decided", "per_cell": 14, "compare": {"failure_margin": 100}}
    parent = played(tmp_path, COUNTER | early | {"factors": {"step": [1, 9]}})
    assert (parent.status, parent.file.end_reason) == ("complete", "decided")
    branch = parent.branch("best", turn=2, variants=VARIANTS, times=10, run_id="branch",
                           executor="in-process")  # fmt: skip
    assert (branch.status, branch.file.end_reason) == ("complete", "done")
    assert set(branch.sessions().outcome) == {"completed"}
    verdict = branch.compare().verdict
    assert (verdict.rules.engine, verdict.rounds_used) == ("fixed", 10)


@pytest.mark.parametrize("branched", ["many", "uneven"])
def test_an_exported_branch_comes_back_with_the_same_units(
    branched: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(branched)
    (path,) = api.export_results(run, "csv", tmp_path / "branch.csv")
    back = api.import_results(path, results=tmp_path / "results")
    (there,) = run.compare().verdict.comparisons
    (here,) = back.compare().verdict.comparisons
    assert there.n == here.n == 6
    assert there.difference == pytest.approx(here.difference)
    assert there.se == pytest.approx(here.se)
