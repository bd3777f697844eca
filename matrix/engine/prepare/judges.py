"""Judges that a run spec lists: their rubrics read, and joined with what a kind makes of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from matrix.judging.listed import CHOICE, ListedJudge
from matrix.judging.rubric_file import read_rubric
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import (
    Binding,
    Kind,
    LabelQuestion,
    NamesScores,
    RoleProfile,
    ShowsScores,
    ShowsTexts,
)
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.records import JSON
from matrix.model.spec.judges import JUDGES, MOST_MEMBERS, JudgeSpec
from matrix.model.spec.run_spec import RunSpec

LISTED: Final = "listed judges"
"""Name that sessions find them under among their texts and data."""

_ANSWER: Final = 120.0
_RUBRIC: Final = 300.0
_CHARS_PER_TOKEN: Final = 4.0
_NO_TEXTS: Final = {"rubric": {"texts"}}


def read_judges(
    spec: RunSpec,
    kind: Kind,
    library: FolderLibrary,
    mistakes: Mistakes,
    *,
    beside: bool = False,
    scored: frozenset[str] = frozenset(),
) -> tuple[RunSpec, list[ListedJudge]]:
    """The spec with what its rubrics say of their scores, and the judges with their rubrics.

    ``beside`` says that sessions are judged beside others, so that rubrics ask for a choice;
    ``scored`` are scores that the sessions have already.
    """
    found: list[ListedJudge] = []
    named: list[JudgeSpec] = []
    for number, one in enumerate(spec.judges):
        path: PathKey = (JUDGES, number)
        listed = mistakes.collect(
            partial(_read, one, library, kind.name), partial(_placed, mistakes, (*path, "rubric"))
        )
        if listed is None:
            continue
        if len(one.model) * one.repeats > MOST_MEMBERS:
            told = f"{len(one.model)} models x {one.repeats} repeats; at most {MOST_MEMBERS}"
            mistakes.fault((*path, "repeats"), told)
        if one.combine == "majority" and listed.rubric.answer == "scores":
            mistakes.fault((*path, "combine"), "majority is of verdicts; scores have a mean")
        if (listed.rubric.answer == CHOICE) is not beside:
            told = "asks for a choice between two sessions: `matrix rejudge RUN --against LEVEL`"
            if beside:
                told = "asks for no choice; --against takes rubrics with `answer: choice`"
            mistakes.fault((*path, "rubric"), told)
        taken = _taken(kind) | scored | {other.rubric.name for other in found}
        if (name := listed.rubric.name) in taken:
            told = f"the scores of {name!r} would have a name that is taken; give it another name"
            told += " (`name:` here or in the rubric)"
            mistakes.fault(path, told)
        found.append(listed)
        rubric = listed.rubric
        said = {"name": name, "better": rubric.better, "bounds": rubric.score_range}
        named.append(one.model_copy(update=said))
    return spec.model_copy(update={JUDGES: tuple(named)}), found


def lower_is_better_of(spec: RunSpec, kind: Kind | None) -> frozenset[str]:
    """Scores of which less is better: of the kind, if it can be had, and of listed judges."""
    of_judges = frozenset(one.name for one in spec.judges if one.better == "lower")
    return of_judges if kind is None else of_judges | kind.lower_is_better


def bounds_of(spec: RunSpec, metric: str) -> tuple[float, float] | None:
    """Least and greatest possible value of what a listed judge scores; ``None`` if none does."""
    return next((one.bounds for one in spec.judges if one.name == metric), None)


def names_of(spec: Mapping[str, JSON] | RunSpec) -> list[str]:
    """The names of the scores that listed judges give."""
    if isinstance(spec, RunSpec):
        return [one.name for one in spec.judges]
    return [str(one["name"]) for one in spec.get(JUDGES) or ()]


def with_judges(
    binding: Binding, judges: Sequence[ListedJudge], kind: Kind, mistakes: Mistakes
) -> Binding:
    """A cell's binding with what its listed judges read and ask."""
    if not judges:
        return binding
    texts = kind_texts(kind, binding.resources)
    for number, judge in enumerate(judges):
        for name in judge.rubric.texts:
            if name not in texts:
                told = f"{judge.rubric.name} shows its judge the text {name!r}, which sessions of "
                told += f"the {kind.name} kind do not have; they have: {', '.join(texts) or 'none'}"
                mistakes.fault((JUDGES, number, "rubric"), told + did_you_mean(name, list(texts)))
    said = sum(use.calls[1] * use.output_tokens for use in binding.profile if use.role != JUDGES)
    profile = [
        RoleProfile(JUDGES, model, _often(judge), said + _RUBRIC + _beside(judge, texts), _ANSWER)
        for judge in judges
        for model in judge.models
    ]
    listed: list[JSON] = [_kept(judge) for judge in judges]
    return replace(
        binding,
        resources={**binding.resources, LISTED: listed},
        models=binding.models | {model for judge in judges for model in judge.models},
        profile=(*binding.profile, *profile),
    )


def kind_texts(kind: Kind, texts: Mapping[str, JSON]) -> Mapping[str, str]:
    """What rubrics may show their judges of a session's texts, by name."""
    return kind.texts_for_judges(texts) if isinstance(kind, ShowsTexts) else {}


def measuring_roles(kind: Kind) -> frozenset[str]:
    """Roles that measure what the others do: those of the kind, and the list of the run spec."""
    return frozenset({JUDGES, *(role.name for role in kind.roles if role.judges)})


def judges_in(texts: Mapping[str, JSON]) -> list[ListedJudge]:
    """The judges that a session was planned with."""
    return [ListedJudge.model_validate(one) for one in texts.get(LISTED) or ()]


def questions_of(texts: Mapping[str, JSON]) -> dict[str, LabelQuestion]:
    """What people are asked in place of the listed judges of a session, by score."""
    found: dict[str, LabelQuestion] = {}
    for judge in judges_in(texts):
        if judge.rubric.answer != CHOICE:
            found[judge.rubric.name] = _question(judge)
            found |= _criteria(judge)
    return found


def _criteria(judge: ListedJudge) -> dict[str, LabelQuestion]:
    """Its named criteria one by one, where there are several: each is a score of its own."""
    criteria, (low, high) = judge.rubric.criteria, judge.rubric.scale
    if not isinstance(criteria, Mapping) or len(criteria) < 2:
        return {}
    told = judge.rubric.instructions.strip()
    return {
        f"{judge.rubric.name}.{name}": LabelQuestion(
            f"{told}\n{name}: {one.question}", low, high, False, judge.target
        )
        for name, one in criteria.items()
    }


def _question(judge: ListedJudge) -> LabelQuestion:
    rubric, target = judge.rubric, judge.target
    told = rubric.instructions.strip()
    if isinstance(rubric.criteria, Mapping):
        listed = "\n".join(f"- {name}: {one.question}" for name, one in rubric.criteria.items())
        low, high = rubric.scale
        return LabelQuestion(
            f"{told}\n{listed}\nHow good is it, taken together?", low, high, False, target
        )
    if rubric.criteria:
        listed = "\n".join(f"{n}. {one}" for n, one in enumerate(rubric.criteria, 1))
        told += f"\nIt fails if {rubric.fail_threshold} or more of these are not met:\n{listed}"
    return LabelQuestion(f"{told}\nDoes it pass?", 0, 1, True, target)


def _often(judge: ListedJudge) -> tuple[float, float, float]:
    asked = float(judge.repeats * (2 if judge.rubric.answer == CHOICE else 1))
    return (asked, asked, 2.0 * asked)


def _kept(judge: ListedJudge) -> JSON:
    """A judge as sessions keep it; they are named by what they keep: without empty ``texts``."""
    return judge.model_dump(mode="json", exclude=None if judge.rubric.texts else _NO_TEXTS)


def _beside(judge: ListedJudge, texts: Mapping[str, str]) -> float:
    """Tokens of what a rubric shows beside what was said."""
    return sum(len(texts.get(name, "")) for name in judge.rubric.texts) / _CHARS_PER_TOKEN


def _taken(kind: Kind) -> set[str]:
    names = kind.score_names if isinstance(kind, NamesScores) else frozenset[str]()
    seen = kind.scores_seen if isinstance(kind, ShowsScores) else frozenset[str]()
    return {"score", "cost_usd", "turns", "duration_s", "failed", *names, *seen}


def _placed(mistakes: Mistakes, path: PathKey, mistake: Mistake) -> Mistake:
    """A reference that leads nowhere is told where the spec says it; else the file's own place."""
    if mistake.line is None and "no such" in mistake.message:
        return mistakes.at(path, mistake.message)
    return mistake


def _read(judge: JudgeSpec, library: FolderLibrary, kind: str) -> ListedJudge:
    rubric = read_rubric(_file_of(judge.rubric, library, kind))
    if judge.name:
        rubric = rubric.model_copy(update={"name": judge.name})
    return ListedJudge(
        rubric=rubric,
        models=judge.model,
        target=judge.target,
        repeats=judge.repeats,
        combine=judge.combine,
        max_tokens=judge.max_tokens,
    )


def _file_of(reference: str, library: FolderLibrary, kind: str) -> Path:
    known = library.rubrics(kind)
    if reference in known:
        return known[reference]
    if reference.startswith("file://") or reference.endswith(".md"):
        return library.project_file(reference)
    told = f"found {reference!r}; no such rubric: name a file (file://PATH) or one of: "
    told += f"{', '.join(known) or 'none'}{did_you_mean(reference, list(known))}"
    raise BadInput([Mistake(reference, None, "", told)])
