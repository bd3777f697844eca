"""Averages, ranks and issues are those of the tables; what is new is told place by place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix
from matrix import api
from matrix.model.errors import BadInput
from matrix.report.groups.issues import Issue
from matrix.report.groups.told import aggregate_sections, aggregates_as_data, issues_section

SPEC: dict[str, Any] = {
    "name": "groups",
    "kind": "playtest",
    "scenarios": ["put-it-back", "lost-temper"],
    "factors": {"prompt": ["baseline", "structured"], "narrator": ["sim/opus-4.5", "sim/grok-4"]},
    "per_cell": 3,
    "limits": {"cost_usd": 150, "turns": 5},
}
QUIET = {"contradiction": 0.0, "loop": 0.0, "forced_segue": 0.9}
LOUD = {"contradiction": 0.9, "loop": 0.0, "forced_segue": 0.0}


def played(folder: Path, run_id: str, traits: dict[str, float], **changes: Any) -> matrix.Run:
    spec = {**SPEC, "simulation": {"traits": traits}, **changes}
    (folder / "matrix.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    return matrix.run(
        folder / "matrix.yaml", results=folder / "results", run_id=run_id, executor="in-process"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("groups")


@pytest.fixture(scope="module")
def quiet(folder: Path) -> matrix.Run:
    return played(folder, "quiet", QUIET)


@pytest.fixture(scope="module")
def loud(folder: Path) -> matrix.Run:
    fewer = {"prompt": ["structured", "pulse-aware"], "narrator": ["sim/opus-4.5"]}
    return played(folder, "loud", LOUD, factors=fewer)


@pytest.mark.slow
def test_every_metric_is_averaged_over_the_sessions_of_each_group(quiet: matrix.Run) -> None:
    found = {one.name: one for one in matrix.aggregates(quiet).groupings}
    assert list(found) == [
        "scenario", "prompt", "narrator", "archetype", "group_size", "spokesperson_archetype",
    ]  # fmt: skip
    sessions = quiet.sessions()
    scores = quiet.frame("scores")
    whole = scores[scores["turn"].isna()].pivot(index="session_id", columns="name", values="value")
    told = sessions.set_index("session_id").join(whole.drop(columns="score"))
    for name in ("scenario", "prompt", "narrator"):
        for metric in ("score", "turns", "cost_usd", "loops", "pulses_detected", "recovery_rate"):
            means = told.groupby(told[name].astype(str))[metric].mean().dropna()
            averages = found[name].averages.get(metric, {})
            assert {level: one.mean for level, one in averages.items()} == pytest.approx(
                means.to_dict()
            )
    names = set(whole.columns) - {"score"}
    assert names <= set(found["prompt"].averages) | {
        name for name in names if whole[name].isna().all()
    }


def test_who_plays_is_counted_by_the_table_of_players(quiet: matrix.Run) -> None:
    players = quiet.frame("players")
    by = ("archetype", "group_size", "spokesperson")
    archetype, size, speaker = matrix.aggregates(quiet, by=by).groupings
    has = players.groupby(players["archetype"].astype(str))["session_id"].nunique()
    assert archetype.sizes == has.to_dict()
    sizes = players.groupby("session_id", observed=True).size().astype(str).value_counts()
    assert size.sizes == sizes.to_dict()
    speaks = players[players["is_spokesperson"]]["archetype"].astype(str).value_counts()
    assert speaker.sizes == speaks.to_dict()
    assert sum(speaker.sizes.values()) == len(quiet.sessions())


def test_configurations_and_sessions_are_ranked_by_score(quiet: matrix.Run) -> None:
    found = matrix.aggregates(quiet, by=["model"], top=3)
    assert [one.name for one in found.groupings] == ["narrator"]
    frame = quiet.sessions()
    means = frame.groupby(["prompt", "narrator"], observed=True)["score"].mean()
    ranked = [(one.levels["prompt"], one.levels["narrator"]) for one in found.ranking]
    assert ranked == list(means.sort_values(ascending=False).index)
    best = sorted(frame["score"].dropna(), reverse=True)
    assert [one.score for one in found.best] == best[:3]
    assert [one.score for one in found.worst] == best[::-1][:3]
    assert found.best[0].session == quiet.session("best").session_id


def test_every_issue_is_told_with_its_turn_and_quote_errors_first(quiet: matrix.Run) -> None:
    found = matrix.aggregates(quiet, by=["story"])
    events = quiet.frame("events")
    wrong = events[events["severity"].notna()]
    assert len(found.issues) == len(wrong) > 0
    rows = {(one.session, one.turn, one.kind, one.quote) for one in found.issues}
    columns = ["session_id", "turn", "kind", "detail"]
    assert rows == set(wrong[columns].itertuples(index=False, name=None))
    severities = [one.severity for one in found.issues]
    assert severities == sorted(severities)


@pytest.mark.slow
def test_issues_are_new_gone_or_still_there_where_both_runs_have_played(
    quiet: matrix.Run, loud: matrix.Run
) -> None:
    found = matrix.aggregates(loud, by=["story"], since=quiet.path).since
    assert found is not None
    assert found.pairs_on == ("round", "scenario", "prompt", "narrator")
    assert found.same_draws
    assert found.places == 6  # of one prompt and one narrator: three rounds of two stories
    changes = {one.kind: one for one in found.changes}
    assert changes["contradiction"].standing == "new"
    assert changes["contradiction"].example is not None
    assert changes["contradiction"].example.levels["prompt"] == "structured"
    assert changes["forced_segue"].standing == "gone"
    again = matrix.aggregates(quiet, by=["story"], since=quiet.path).since
    assert again is not None
    assert {(one.new, one.gone) for one in again.changes} == {(0, 0)}
    assert {one.standing for one in again.changes} == {"still there"}
    assert again.places == len(quiet.sessions())


def test_no_table_of_a_group_is_wider_than_the_terminal_and_none_is_left_out(
    quiet: matrix.Run,
) -> None:
    found = matrix.aggregates(quiet, by=["archetype"])
    (grouping,) = found.groupings
    sections = [
        one for one in aggregate_sections(found, 80, 5) if one.title.startswith("Every metric by")
    ]
    assert max(len(line) for one in sections for line in one.as_text(80).splitlines()) <= 80
    headers = [header for one in sections for header in one.headers[1:]]
    assert headers == [f"{level} ({size})" for level, size in grouping.sizes.items()]
    data = aggregates_as_data(found)["by"]["archetype"]
    assert {level: one["sessions"] for level, one in data.items()} == dict(grouping.sizes)


def test_a_group_that_there_is_not_is_named_with_those_that_there_are(quiet: matrix.Run) -> None:
    with pytest.raises(BadInput, match="found 'promt'; can be all, scenario, prompt, narrator"):
        matrix.aggregates(quiet, by=["promt"])
    with pytest.raises(BadInput, match="a whole number from 1"):
        matrix.aggregates(quiet, top=0)


@pytest.mark.slow
def test_what_a_scenario_cost_is_told_in_total_and_a_session(quiet: matrix.Run) -> None:
    costs = quiet.sessions().groupby("scenario", observed=True)["cost_usd"].agg(["sum", "mean"])
    assert len(costs) == 2
    rows = _rows(api.report(quiet), "What each scenario cost")
    markdown = (quiet.path / "report.md").read_text()
    for scenario, (total, each) in costs.iterrows():
        told = [cell.rpartition(">")[2] for cell in rows[str(scenario)]]
        assert told[1:] == [f"{total:.4f}", f"{each:.4f}"]
        assert f"| {' | '.join([str(scenario), *told])} |" in markdown


@pytest.mark.slow
def test_the_page_has_averages_ranks_and_issues(quiet: matrix.Run) -> None:
    text = api.report(quiet)
    wanted = [
        "Averages and ranks",
        "Configurations, the best mean score first",
        "Issues by kind",
        "Every metric by spokesperson_archetype",
        "Worst sessions by score",
    ]
    for told in wanted:
        assert told in text
    (name, archetype), *_ = _speakers(quiet)
    assert f"{name} ({archetype}, speaks for all)" in text
    anchors = {part.split('"')[0] for part in text.split('href="#')[1:]}
    assert {one for one in anchors if f'id="{one}"' not in text} == set()


def _speakers(run: matrix.Run) -> list[tuple[str, str]]:
    players: Any = run.frame("players")
    mine = players[players.is_spokesperson]
    return list(zip(mine.name, mine.archetype, strict=True))


def _rows(page: str, caption: str) -> dict[str, list[str]]:
    """Metric -> its cells as HTML, of one table of a page."""
    body = page.split(f">{caption}</span>")[1].split("</table>")[0].split("<tbody>")[1]
    rows = [row.split("</th>") for row in body.split("<tr>")[1:]]
    return {
        head.rpartition(">")[2]: re.findall(r"<td[^>]{0,40}>[^<]{0,40}", rest)
        for head, rest in rows
    }


@pytest.mark.slow
def test_a_group_is_shaded_from_its_worst_to_its_best_and_not_where_neither_is_better(
    quiet: matrix.Run,
) -> None:
    rows = _rows(api.report(quiet), "Every metric by prompt (played sessions)")
    (grouping,) = matrix.aggregates(quiet, by=["prompt"]).groupings
    less = {"cost_usd", "forced_segues", "tangent_avg_length"}
    neither = {"turns", "calls", "tokens_in", "pulses_expected", "explorations"}
    told = set[str]()
    for metric in {"score", "quality_pacing", *less, *neither} & set(grouping.averages):
        means = [one.mean for one in grouping.averages[metric].values()]
        best = (min if metric in less else max)(means)
        for cell, mean in zip(rows[metric], means, strict=True):
            shaded = metric not in neither and min(means) < max(means)
            assert ("h4" in cell) == (shaded and mean == best)
            assert ("h0" in cell) == (shaded and mean != best)
            told |= {metric} if shaded else set()
    assert {"score", "cost_usd", "forced_segues"} <= told


@pytest.mark.slow
def test_what_failed_sessions_were_measured_at_is_in_the_means_of_their_group(
    tmp_path: Path,
) -> None:
    factors = {"prompt": ["baseline", "structured"]}
    limits = {"cost_usd": 150, "turns": 9}
    run = played(tmp_path, "failing", {"loop": 0.4}, factors=factors, limits=limits)
    sessions = run.sessions()
    failed = sessions["outcome"] == "failed"
    assert failed.any()
    assert not failed.all()
    (grouping,) = matrix.aggregates(run, by=["prompt"]).groupings
    scores = run.frame("scores")
    loops = scores[scores["turn"].isna() & (scores["name"] == "loops")]
    own = sessions.set_index("session_id").join(loops.set_index("session_id")["value"])
    means = own.groupby("prompt", observed=True)[["value", "turns"]].mean()
    for level, size in grouping.sizes.items():
        average = grouping.averages["loops"][level]
        assert average.mean == pytest.approx(means["value"][level])
        assert average.sessions == size
        assert grouping.averages["turns"][level].mean == pytest.approx(means["turns"][level])
    rows = _rows(api.report(run), "Every metric by prompt (played sessions)")
    scored = own[own["score"].notna()].groupby("prompt", observed=True).size()
    for cell, (level, size) in zip(rows["score"], grouping.sizes.items(), strict=True):
        assert (f"({scored[level]} of {size})" in cell) == (scored[level] < size)


@pytest.mark.slow
def test_a_run_without_players_factors_or_issues_is_grouped_by_what_it_has(tmp_path: Path) -> None:
    spec = {"name": "one", "kind": "counter", "scenarios": ["one"], "per_cell": 3,
            "limits": {"cost_usd": 5}}  # fmt: skip
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    run = matrix.run(tmp_path / "matrix.yaml", results=tmp_path / "r", executor="in-process")
    found = matrix.aggregates(run)
    assert [one.name for one in found.groupings] == ["scenario"]
    assert (found.ranking, found.issues) == ((), ())
    told = "\n".join(one.as_text(80) for one in aggregate_sections(found, 80, 5))
    assert "nothing that the kind looks for" in told


def test_a_list_of_issues_has_each_kind_however_often_another_comes() -> None:
    """The gravest are first all the same, and a list that has room is whole."""
    kinds = [("loop", "error")] * 30 + [("stuck", "warning")] * 30 + [("lost", "warning")]
    found = [Issue(k, s, f"s{at}", at, "x", {}, "", "") for at, (k, s) in enumerate(kinds)]
    section = issues_section(found, 10, "run")
    assert [row[1] for row in section.rows] == ["loop"] * 5 + ["stuck"] * 4 + ["lost"]
    assert [row[2] for row in section.rows[:2]] == ["s0", "s1"]
    assert section.notes[0].startswith("51 more")
    assert section.title.endswith("of each kind some (5 of 30 errors, 5 of 31 warnings):")
    assert len(issues_section(found, 100, "run").rows) == 61


@pytest.mark.parametrize(
    ("subject", "quote", "told"),
    [
        ("Marek Voss", "a named person takes over", "Marek Voss: a named person takes over"),
        ("Marek Voss", "enter Marek Voss", "enter Marek Voss"),
        ("narrator", "I am only a model", "I am only a model"),
        ("", "nothing new in 3 outputs", "nothing new in 3 outputs"),
    ],
)
def test_an_issue_in_a_list_says_who_it_is_of(subject: str, quote: str, told: str) -> None:
    one = Issue("guide_deviation", "warning", "s1", 2, "x", {}, subject, quote)
    assert issues_section([one], 5, "run").rows[0][-1] == told
