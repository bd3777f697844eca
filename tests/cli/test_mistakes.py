"""Bad input: one line a mistake, all at once, nothing started, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matrix import api
from matrix.cli.options import overrides_of
from matrix.model.errors import BadInput
from tests.cli.program import Golden, GoldenRun, Matrix, normalised
from tests.executors.programs import Done, Project, play_spec

MANY = """\
version: 1
name: many
kind: playtest
scenarios: [put-it-bak, broken, no-guide]
factors:
  promt: [baseline]
  prompt: [baseline, warmer]
compare:
  factor: promp
  metrc: score
per_cell: twelve
roles:
  narator: sim/opus
limits:
  cost_usd: -3
options:
  group_size_min: 9
  colour: red
simulation:
  effects:
    - {factor: prompt, level: warmer, trait: forced_seque, multiply: 0.5}
colour: red
"""

BROKEN_PACK = """\
kind: playtest
titel: A Broken Story
summary: It has mistakes.
setting: Nowhere.
pulses_expected: many
"""

BROKEN_ARCHETYPE = """\
id: grump
name: The Grump
style: Complains.
context: Had a long day.
patterns: [sighs]
quirk_frequency: 1.5
model: opus
teir: 2
"""

OWN_MODELS = """\
roles: {judge: sim/secret, classifier: sim/opsu, spokesperson: gpt-9}
models:
  secret: {target: sim/secret}
"""

OWN_PARAMETERS = """\
roles: {narrator: anthropic/claude-opus-4-5, judge: small}
models:
  small: {target: openai/gpt-4o-mini, params: {effort: low}}
params:
  narrator: {top_k: 40, presense_penalty: 1}
factors:
  judge.thinking_tokens: [1024, 2048]
"""

SINGLE = {
    "not YAML": "name: [\n",
    "a key twice": "name: a\nname: b\n",
    "an alias": "factors: &list\n  prompt: [*list]\n",
    "no mapping": "just text\n",
    "unknown key": "sesions: 3\n",
    "unknown key inside": "limits: {trns: 3}\n",
    "wrong type": "sessions: many\n",
    "out of range": "limits: {turns: 0}\n",
    "a list instead of a mapping": "factors: [prompt]\n",
    "one level instead of a list": "factors: {prompt: baseline}\n",
    "two ways to count": "sessions: 3\nper_cell: 3\n",
    "later format": "version: 2\n",
    "name with a slash": "name: a/b\n",
    "unknown kind": "kind: playtset\n",
    "unknown scenario": "scenarios: [put-it-bak]\n",
    "pattern that fits none": 'scenarios: ["x*"]\n',
    "unknown role": "roles: {narator: sim/opus}\n",
    "unknown factor": "factors: {promt: [a, b]}\n",
    "a level twice": "factors: {prompt: [baseline, baseline]}\n",
    "empty matrix": "factors: {prompt: []}\n",
    "compares what does not vary": "compare: {factor: prompt}\n",
    "unknown option": "options: {colour: red}\n",
    "options at odds": "options: {group_size_min: 4, group_size_max: 3}\n",
    "unknown models": OWN_MODELS,
    "half a price": "models: {mine: {target: sim/mine, price: {input: 1}}}\n",
    "unknown trait": "simulation: {traits: {forced_seque: 1}}\n",
    "cap below one call": "limits: {cost_usd: 0.0001}\n",
    "cap below one round": "limits: {cost_usd: 0.5}\n",
    "unknown prompt": "scenarios: [put-it-back]\nfactors:\n  prompt: [baseline, warmr]\n",
    "no such prompt file": "scenarios: [put-it-back]\noptions:\n  prompt: file://nope.md\n",
    "unknown archetype": "scenarios: [put-it-back]\noptions:\n  archetypes: [joker, jokre]\n",
    "parameters of nobody": "params: {narator: {effort: low}}\n",
    "a parameter that is none": "params: {judge: {temperture: 0}}\n",
    "a parameter out of range": "params: {judge: {temperature: 3, effort: hihg}}\n",
    "the engine's own parameters": "params: {all: {n: 4, api_key: x}, judge: {thinking: 3}}\n",
    "behind the engine's back": "params: {judge: {extra_body: {max_tokens: 9}}}\n",
    "a level that its parameter does not take": "factors: {judge.effort: [low, hihg]}\n",
    "more reasoning than tokens": "params: {all: {thinking_tokens: 900, max_tokens: 800}}\n",
    "what a real model does not take": OWN_PARAMETERS,
    "one model for all archetypes": "roles:\n  judge: sim/by-archetype\n",
}


@pytest.fixture
def broken(project: Path) -> Path:
    """A project with a broken story, a story without a guide, and a broken archetype."""
    stories = project / "scenarios" / "playtest"
    for name, text in (
        ("broken", BROKEN_PACK),
        ("no-guide", BROKEN_PACK.replace("titel", "title").replace("many", "8")),
    ):
        (stories / name).mkdir()
        (stories / name / "scenario.yaml").write_text(text)
    (stories / "broken" / "guide.md").write_text("# A guide\n")
    (project / "archetypes").mkdir()
    (project / "archetypes" / "grump.yaml").write_text(BROKEN_ARCHETYPE)
    (project / "many.yaml").write_text(MANY)
    return project


def lines_of(project: Path, text: str) -> list[str]:
    spec = project / "one.yaml"
    spec.write_text(text)
    return [str(mistake) for mistake in api.validate(spec)]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is said about each spec of ``SINGLE``."""
    folder = tmp_path_factory.mktemp("single")
    api.init(folder)
    return {
        name: [normalised(line, folder).rstrip() for line in lines_of(folder, text)]
        for name, text in SINGLE.items()
    }


def test_every_mistake_of_a_spec_and_its_packs_is_reported_at_once(
    broken: Path, golden_run: GoldenRun
) -> None:
    assert golden_run("validate-many", "validate", "many.yaml").code == 2


@pytest.mark.slow
def test_a_run_and_a_plan_say_the_same_and_start_nothing(broken: Path, matrix: Matrix) -> None:
    said = matrix("plan", "many.yaml")
    assert said.code == 2
    assert said.stderr.splitlines() == [str(one) for one in api.validate(broken / "many.yaml")]
    assert matrix("run", "--executor", "in-process", "many.yaml") == said
    assert not (broken / "results").exists()


def test_a_broken_archetype_is_reported_with_its_line(broken: Path, golden: Golden) -> None:
    (broken / "one.yaml").write_text("scenarios: [put-it-back]\n")
    found = [str(mistake) for mistake in api.validate(broken / "one.yaml")]
    golden("archetype", normalised("\n".join(found), broken))


@pytest.mark.slow
def test_each_kind_of_mistake_in_one_line(single: dict[str, list[str]], golden: Golden) -> None:
    said = [
        f"--- {name}\n{text}=>\n" + "\n".join(single[name]) + "\n" for name, text in SINGLE.items()
    ]
    golden("mistakes", "\n".join(said))


@pytest.mark.parametrize("name", SINGLE)
def test_a_mistake_names_its_file_and_line(single: dict[str, list[str]], name: str) -> None:
    assert single[name]
    assert [line for line in single[name] if not line.startswith("one.yaml:")] == []


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("sesions: 3\n", "sessions"),
        ("limits: {trns: 3}\n", "turns"),
        ("kind: playtset\n", "playtest"),
        ("scenarios: [put-it-bak]\n", "put-it-back"),
        ("roles: {narator: sim/opus}\n", "narrator"),
        ("factors: {promt: [a, b]}\n", "prompt"),
        ("options: {promt: a}\n", "prompt"),
        ("roles: {all: sim/opsu}\n", "opus"),
        ("params: {narator: {effort: low}}\n", "narrator"),
        ("params: {judge: {temperture: 0}}\n", "temperature"),
        ("factors: {efort: [low, high]}\n", "effort"),
        ("factors: {judge.efort: [low, high]}\n", "effort"),
        ("factors: {jugde.effort: [low, high]}\n", "judge.effort"),
        ("simulation: {traits: {forced_seque: 1}}\n", "forced_segue"),
        ("factors: {prompt: [baseline, warmr]}\n", "warmer"),
        ("options: {archetypes: [jokre]}\n", "joker"),
    ],
)
def test_a_near_match_is_suggested(project: Path, text: str, near: str) -> None:
    (line,) = lines_of(project, text)
    assert line.endswith(f"; did you mean '{near}'?")


def test_a_file_that_is_none_is_named(here: Path, matrix: Matrix) -> None:
    (here / "binary.yaml").write_bytes(b"kind: counter\nname: \xff\xfe\x00")
    result = matrix("validate", "none.yaml")
    assert result.code == 2
    assert result.stderr.startswith("none.yaml: no such file")
    result = matrix("validate", "binary.yaml")
    told = "binary.yaml:2: is not UTF-8 text; save it as UTF-8\n"
    assert (result.stderr, result.code) == (told, 2)


@pytest.mark.parametrize("text", ["", "\n \n", "# all of it\n  # is a comment\n"])
def test_a_file_that_says_nothing_is_no_spec(here: Path, matrix: Matrix, text: str) -> None:
    (here / "matrix.yaml").write_text(text)
    result = matrix("plan")
    assert (result.code, "is empty: a file that was cut off?" in result.stderr) == (2, True)


def test_mistakes_in_flags_and_variables_are_named_as_such(
    project: Path, golden_run: GoldenRun
) -> None:
    flags = ("--max-cost", "nan", "--at-cap", "never", "--set", "limits.trns=3")
    variables = {"MATRIX_SESSIONS": "many"}
    result = golden_run("mistakes-in-flags", "plan", *flags, variables=variables)
    origins = [line.split(":")[0] for line in result.stderr.splitlines()]
    assert sorted(origins) == ["--at-cap", "--max-cost", "--set limits.trns", "MATRIX_SESSIONS"]
    assert result.code == 2


@pytest.mark.parametrize(
    ("settings", "models", "flags", "said"),
    [
        (["limits"], [], {}, "--set: found 'limits'; write it as PATH=VALUE"),
        (["limits.turns=["], [], {}, "--set limits.turns: "),
        ([], ["narrator"], {}, "--model: found 'narrator'; write it as ROLE=MODEL"),
        ([], ["narator=sim/opus"], {}, "--model narator: roles.narator: unknown role; "),
        ([], [], {"sessions": 0}, "--sessions: sessions: found 0; "),
        ([], [], {"sessions": 4, "per_cell": 2}, "--per-cell: per_cell: give sessions or per_cell"),
    ],
)
def test_a_mistake_in_a_flag_is_one_line(
    project: Path, settings: list[str], models: list[str], flags: dict[str, int], said: str
) -> None:
    with pytest.raises(BadInput) as raised:
        api.plan(project, overrides=overrides_of(settings, models, **flags))
    assert raised.value.mistakes[0].with_flags.startswith(said)
    assert len(raised.value.mistakes) == 1


def test_mistakes_are_data_too(project: Path, matrix: Matrix) -> None:
    (project / "one.yaml").write_text("version: 1\nsesions: 3\n")
    result = matrix("validate", "one.yaml", "--json")
    (mistake,) = json.loads(result.stdout)
    assert (mistake["source"], mistake["line"], mistake["path"]) == ("one.yaml", 2, "sesions")
    assert (result.stderr, result.code) == ("", 2)


def test_a_sound_spec_is_fine(project: Path, matrix: Matrix) -> None:
    assert matrix("validate") == ("fine: nothing wrong found\n", "", 0)


@pytest.mark.slow
def test_an_empty_spec_is_a_file_that_was_cut_off_and_no_run_of_defaults(
    here: Path, matrix: Matrix
) -> None:
    (here / "empty.yaml").write_text("\n", encoding="utf-8")
    for command in ("validate", "plan", "run"):
        result = matrix(command, "empty.yaml")
        assert (result.code, result.stdout) == (2, "")
        assert result.stderr.startswith("empty.yaml: is empty")


@pytest.mark.slow
def test_an_effect_on_what_is_nearly_a_level_is_a_mistake_and_on_one_left_out_is_none(
    tmp_path: Path,
) -> None:
    def told(level: str, *more: str) -> Done:
        effect = {"factor": "prompt", "level": level, "trait": "forced_segue", "multiply": 0.5}
        project = Project(tmp_path)
        project.write(
            play_spec(factors={"prompt": ["baseline", "warmer"]}, simulation={"effects": [effect]})
        )
        return project.matrix("validate", *more)

    prompts = tmp_path / "scenarios" / "playtest" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "warmer.md").write_text("# Warm\n\nBe warm.")
    assert told("warmer").code == 0
    found = told("warmmer")
    assert found.code == 2
    assert (
        "simulation.effects[0].level: found 'warmmer'; factor prompt has: baseline, warmer; "
        "did you mean 'warmer'?" in found.err
    )
    assert told("pulse-aware").code == 0
