"""Content assertions: what a judge is shown, and what its verdict comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from matrix.judging.asking import Judge, Judged, judge_transcript
from matrix.judging.forms import Form
from matrix.judging.request import MAX_PART, Part, cut
from matrix.judging.verdict_line import LineVerdict, verdict_form
from matrix.kinds.context import Context
from matrix.kinds.protocol import MATERIAL
from matrix.kinds.trajectory.assertions.folder import View
from matrix.kinds.trajectory.assertions.notes.paths import alternatives, hits
from matrix.kinds.trajectory.settings import JUDGE, Content, TrajectoryScenario
from matrix.kinds.trajectory.state import (
    UNCERTAIN,
    UNJUDGED,
    UNREADABLE,
    AssertionResult,
    TrajectoryState,
)
from matrix.model.errors import CallFailed
from matrix.model.records import Message
from matrix.model.spec.aliases import BUILT_IN, SIMULATED_PREFIX

MAX_TOKENS: Final = 1000
INPUT_CHARS: Final = 20_000
"""Of an input, as a judge is shown it."""
_MOST_NAMED: Final = 200
TOLD: Final = (
    "You judge the work of an agent that keeps a notebook of files. Decide by the rubric below, "
    "about what you are shown. What the scenario expects, and what must not be, is given with it."
)
"""What every judge of a trajectory is told before the rubric."""


def form_of(rubric: str) -> Form[LineVerdict]:
    """How a judge is asked by a rubric."""
    return verdict_form(f"{TOLD}\n\n{rubric}")


def model_of(
    requested: str, level: str, scenario: TrajectoryScenario, agents: frozenset[str]
) -> str:
    """Who judges an assertion that asks for a model of its own.

    The adapter says what a name stands for. Else agents and simulated models go by their names; a
    simulated judge is simulated under the name, an agent that judges is one of the name
    ``AGENT-WANTED`` if there is one, and a model is itself. Where nothing of that is there, it is
    the judge that all others have.

    Args:
        requested: The model that the assertion names; empty for none.
        level: Who plays the judge.
        scenario: With what names stand for.
        agents: Agents that there are.
    """
    if not requested:
        return level
    if requested in scenario.judge_models:
        return scenario.judge_models[requested]
    if requested in agents or requested.startswith(SIMULATED_PREFIX):
        return requested
    if level.startswith(SIMULATED_PREFIX):
        return f"{SIMULATED_PREFIX}{requested}" if requested in BUILT_IN else level
    if level in agents:
        return f"{level}-{requested}" if f"{level}-{requested}" in agents else level
    return requested


_LEAST: Final = 200
"""Fewer characters of a file say nothing."""


def material_of(view: View, check: Content, final: bool, chars: int) -> list[tuple[str, str]]:
    """Path and text of the files that a judge is shown, within a number of characters.

    Named files share it evenly, and there are none if nothing is so called; where none is named, a
    judge of the final state is shown all notes, those with the shortest text first where not all
    fit.
    """
    paths = _meant(view, check, final)
    if not (check.target_glob or check.target_file):
        return _within(view, paths, chars)
    return _shared(view, paths, chars)


def told_folder(view: View, folder: str) -> str:
    """The files of a folder that came in, as a transcript has them, within what an input may have.

    What is no text is named only.
    """
    paths = [path for path in view.now if path.startswith(f"{folder}/")]
    texts = [path for path in paths if "\0" not in view.text(path)]
    shown = dict(_shared(view, sorted(texts), INPUT_CHARS))
    return "\n\n".join(
        f"File {path}:\n{shown[path]}" if path in shown else f"File {path} (not shown)"
        for path in sorted(paths)[:_MOST_NAMED]
    )


def _shared(view: View, paths: Sequence[str], chars: int) -> list[tuple[str, str]]:
    """Paths and texts that share a number of characters evenly."""
    shown, left = dict[str, str](), chars
    for number, path in enumerate(sorted(paths, key=lambda one: (len(view.text(one)), one))):
        each = min(MAX_PART, left // (len(paths) - number))  # what short ones leave is for others
        if each < _LEAST:
            break
        shown[path] = cut(view.text(path), each)
        left -= min(each, len(view.text(path)))
    return [(path, shown[path]) for path in paths if path in shown]


def _meant(view: View, check: Content, final: bool) -> list[str]:
    """The files that a judge is to be shown, if there is room."""
    if target := check.target_glob or check.target_file:
        found = (path for one in alternatives(target) for path in hits(one, view.now))
        return list(dict.fromkeys(found))
    return view.notes if final else []


def left_out(view: View, check: Content, final: bool, shown: Sequence[tuple[str, str]]) -> str:
    """What of its files a judge is not shown, in words; empty if that is nothing."""
    meant, there = _meant(view, check, final), dict(shown)
    whole = sum(len(view.text(path)) for path in meant)
    seen = sum(min(len(there[path]), len(view.text(path))) for path in meant if path in there)
    lost = len([path for path in meant if path not in there])
    if seen >= whole and not lost:
        return ""
    files = f", {lost} of {len(meant)} files not at all" if lost else ""
    return f"shown {seen:,} of {whole:,} characters{files}"


def _within(view: View, paths: Sequence[str], chars: int) -> list[tuple[str, str]]:
    left, fits = chars, set[str]()
    for path in sorted(paths, key=lambda one: (len(view.text(one)), one)):
        if (size := len(view.text(path)) + 200) > left:
            break
        left -= size
        fits.add(path)
    found = [(path, view.text(path)) for path in paths if path in fits]
    if rest := [path for path in paths if path not in fits]:
        found.append(("(not shown, for want of room)", "\n".join(rest)[:4000]))
    return found


def keep_material(ctx: Context, result: str, shown: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Keep what a judge will be shown in the log; where it is."""
    return tuple(
        ctx.log.append(Message(MATERIAL, result, text, ctx.turn, path)) for path, text in shown
    )


def parts_of(
    ctx: Context,
    check: Content,
    result: AssertionResult,
    scenario: TrajectoryScenario,
    state: TrajectoryState,
) -> Iterator[Part]:
    """What the judge is shown, part by part."""
    if scenario.description:
        yield Part("Scenario", scenario.description, INPUT_CHARS)
    if result.turn:
        asked = ctx.log[state.asked_at[result.turn - 1]]
        yield Part(f"What came in: {asked.label}", asked.text, INPUT_CHARS)
    if result.turn and not (check.target_glob or check.target_file):
        yield Part("What the agent said", ctx.log[state.said_at[result.turn - 1]].text)
    for at in result.shown:
        yield Part(f"File {ctx.log[at].label}", ctx.log[at].text)
    for name, text in check.context.items():
        yield Part(name.replace("_", " ").capitalize(), text, INPUT_CHARS)


async def judged(
    ctx: Context,
    checks: Mapping[str, Content],
    result: AssertionResult,
    scenario: TrajectoryScenario,
    state: TrajectoryState,
    agents: frozenset[str],
) -> AssertionResult:
    """A result with its judge's verdict: asked again once if it cannot be read, then UNCERTAIN."""
    check = checks[result.id]
    form, level = form_of(check.text), ctx.plan.roles[JUDGE]
    model = model_of(check.model, level, scenario, agents)
    judge = Judge(JUDGE, model, form, MAX_TOKENS, check.rubric)
    material = list(parts_of(ctx, check, result, scenario, state))
    try:
        (one,) = await judge_transcript(ctx, judge, material)
    except CallFailed as failure:
        told = {"word": UNJUDGED, "why": f"the judge: {failure}"[:500]}
        return result.model_copy(
            update={**told, "error": failure.error_class, "model": model, "rubric": form.hash}
        )
    update = _verdict(one)
    if result.part:
        update["why"] = f"({result.part}) {update['why']}"
    return result.model_copy(update={**update, "model": one.model, "rubric": form.hash})


def _verdict(one: Judged[LineVerdict]) -> dict[str, str]:
    if one.verdict is None:
        return {"word": UNCERTAIN, "why": f"unreadable twice: {one.why}", "error": UNREADABLE}
    return {"word": one.verdict.word, "why": one.verdict.reason}
