"""Every row about judges in ``docs/failures.md``: a judge does it, and the tables are compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.executors.programs import Project

PAGE = Path(__file__).resolve().parents[2] / "docs" / "failures.md"
FORMS = ("scores", "criteria", "verdict")
RUBRICS = {
    "scores": 'criteria: {clear: "Is it clear?"}',
    "criteria": "answer: criteria\ncriteria: [It counts, It ends]",
    "verdict": "answer: verdict",
}
GOOD = {
    "scores": '{"clear": 4, "reason": "so"}',
    "criteria": "## Criteria Evaluation\n1. It counts: MET - yes\n2. It ends: MET - yes\n\n"
    "## Verdict\n**PASS**\n\n## Reasoning\nso",
    "verdict": "VERDICT: PASS - so",
}
BAD = {
    "scores": '{"clear": 2, "reason": "so"}',
    "criteria": GOOD["criteria"].replace("MET - yes", "NOT MET - no").replace("PASS", "FAIL"),
    "verdict": "VERDICT: FAIL - so",
}
OFF = '{"clear": 9, "reason": "so"}'
SAID: dict[str, dict[str, list[str]]] = {
    "says what it should": {form: [GOOD[form]] for form in FORMS},
    "says it in bold, with words before it": {
        "scores": [f"Here it is:\n```json\n{GOOD['scores']}\n```"],
        "criteria": [GOOD["criteria"].replace("MET - yes", "**MET** - yes")],
        "verdict": ["I looked.\n\n**VERDICT: PASS** - so"],
    },
    "goes on after it": {
        "scores": [f"{GOOD['scores']}\nThat is what somebody wrote."],
        "criteria": [f"{GOOD['criteria']}\nThat is all."],
        "verdict": [f"{GOOD['verdict']}\nThat is what somebody wrote."],
    },
    "quotes it, or thinks it, and says no more": {
        form: [f"<think>\n{GOOD[form]}", f"> {GOOD[form]}".replace("\n", "\n> ")] for form in FORMS
    },
    "gives every answer there is": {
        "scores": ['{"clear": 1, "clear": 5, "reason": "so"}'],
        "criteria": [GOOD["criteria"].replace("MET - yes", "MET/NOT MET - yes")],
        "verdict": ["VERDICT: PASS|FAIL|UNCERTAIN - so"],
    },
    "says it after a megabyte of thoughts": {
        form: ["x " * 500_000 + "\n" + GOOD[form]] for form in FORMS
    },
    "is unsure": {form: ["VERDICT: UNCERTAIN - who knows"] for form in FORMS},
    "says nothing": {form: [" "] for form in FORMS},
    "is cut off in the middle": {
        "scores": ['{"clear": '],
        "criteria": ["## Criteria Evaluation\n1. It counts: MET - yes\n2. It"],
        "verdict": ["It counts, so my VERD"],
    },
    "answers in another language": {
        "scores": ['{"klar": 4}'],
        "criteria": ["1. Es zählt: ERFÜLLT\n2. Es endet: ERFÜLLT\n**BESTANDEN**"],
        "verdict": ["URTEIL: BESTANDEN - ja"],
    },
    "refuses": {form: ["I am sorry, I cannot judge this."] for form in FORMS},
    "gives two answers that differ": {form: [f"{GOOD[form]}\n\n{BAD[form]}"] for form in FORMS},
    "gives the same answer twice": {form: [f"{GOOD[form]}\n\n{GOOD[form]}"] for form in FORMS},
    "claims the contrary of its findings": {
        "scores": ['{"clear": 4, "reason": "It is not clear at all."}'],
        "criteria": [BAD["criteria"].replace("**FAIL**", "**PASS**")],
        "verdict": ["VERDICT: PASS - it fails"],
    },
    "gives a score off the scale": {form: [OFF] for form in FORMS},
    "gives a score in words": {form: ['{"clear": "four", "reason": "so"}'] for form in FORMS},
    "breaks": {form: ["!"] for form in FORMS},
    "can be read when it is asked again": {form: ["hm", GOOD[form]] for form in FORMS},
}
JUDGES = """
import json, pathlib
SAID = json.loads(pathlib.Path("said.json").read_text())

def judge(row, form):
    async def say(turn):
        if SAID[row][form] == ["!"]:
            raise ValueError("it broke")
        again = "could not be read" in turn.prompt or "Answer with" in turn.prompt[-400:]
        said = SAID[row][form]
        return said[-1] if again else said[0]
    return say

for number, row in enumerate(SAID):
    for form in SAID[row]:
        globals()[f"{form}{number}"] = judge(row, form)
"""


class Row(NamedTuple):
    scores: str
    criteria: str
    verdict: str
    asked: str


def rows() -> dict[str, Row]:
    text = PAGE.read_text(encoding="utf-8").partition("## Judges")[2]
    found = re.findall(r"^\| ([^|]+) \| (\S+) \| (\S+) \| (\S+) \| (once|twice) \|$", text, re.M)
    return {name: Row(*rest) for name, *rest in found}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Project:
    import json

    folder = tmp_path_factory.mktemp("judges")
    (folder / "said.json").write_text(json.dumps(SAID))
    (folder / "bad_judges.py").write_text(JUDGES)
    for form, front in RUBRICS.items():
        (folder / f"{form}.md").write_text(f"---\n{front}\n---\nYou read.\n")
    project = Project(folder)
    for run, numbers in enumerate(runs()):
        spec = spec_of([f"{form}{number}" for number in numbers for form in FORMS])
        (folder / f"{run}.yaml").write_text(yaml.safe_dump(spec))
        done = project.matrix(
            "run", f"{run}.yaml", "--executor", "in-process", "--run-id", f"it{run}"
        )
        assert done.code == 0, done
    return project


def runs() -> list[range]:
    """The rows of each run: a run has at most 50 judges."""
    return [range(start, min(start + 16, len(SAID))) for start in range(0, len(SAID), 16)]


def spec_of(names: list[str]) -> dict[str, object]:
    return {
        "kind": "counter",
        "scenarios": ["one"],
        "per_cell": 1,
        "limits": {"cost_usd": 10, "turns": 2},
        "agents": {name: {"python": f"bad_judges:{name}", "free": True} for name in names},
        "judges": [
            {"rubric": f"{name.rstrip('0123456789')}.md", "name": name, "model": name}
            for name in names
        ],
    }


def test_every_row_is_played_and_no_other() -> None:
    assert list(rows()) == list(SAID)


@pytest.mark.parametrize("row", list(SAID))
def test_each_row_comes_to_what_the_page_says(played: Project, row: str) -> None:
    number = list(SAID).index(row)
    tables = played.tables(f"it{number // 16}")
    scores, calls = tables.frame("scores").set_index("name"), tables.frame("calls")
    found, asked = {}, set()
    for form in FORMS:
        name = f"{form}{number}"
        one = scores.loc[name]
        told = one.label if isinstance(one.label, str) and one.label else one.value
        found[form] = "missing" if told != told else str(told) if form != "scores" else f"{told:g}"
        asked.add(len(calls[calls.tag == name]))
        if found[form] == "missing":
            assert one.reason
    requested = rows()[row]
    assert found == {form: getattr(requested, form) for form in FORMS}
    assert max(asked) == {"once": 1, "twice": 2}[requested.asked]
