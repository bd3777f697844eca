"""`matrix import`: results that exist, of any form, to a verdict; and what works on such a run."""

from __future__ import annotations

import csv
import json
import random
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import matrix as python_api
from matrix.model.errors import BadInput
from tests.cli.program import GoldenRun, Matrix
from tests.cli.tables import HEADERS, paired, write_csv


@pytest.mark.slow
def test_a_csv_comes_to_a_verdict_that_says_what_it_rests_on(
    here: Path, golden_run: GoldenRun
) -> None:
    write_csv(here / "results.csv", HEADERS, paired(6.0))
    assert golden_run("import", "import", "results.csv", "--run-id", "mine").code == 0
    assert golden_run("import-compare", "compare", "mine").code == 0
    assert golden_run("import-show", "show", "mine").code == 0


def test_every_mistake_of_a_file_is_told_at_once_and_nothing_is_made(
    here: Path, golden_run: GoldenRun
) -> None:
    rows = [
        ["1", "a", "nan", "0.1"],
        ["1", "a", "3", "0.1"],
        ["2", "b", "-inf", "-4"],
        ["3", "b", "9" * 1_000_000, "x"],
        ["1", "b", "0,5", "1"],
        ["", "", "oops", "1"],
    ]
    write_csv(here / "bad.csv", ("id", "model", "score", "cost"), rows)
    write_csv(here / "other.csv", ("foo", "bar"), [[1, 2]])
    assert golden_run("import-mistakes", "import", "bad.csv").code == 2
    assert golden_run("import-columns", "import", "other.csv", "--unit", "fo").code == 2
    assert not (here / "results").exists()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"", "is empty"),
        ("only.csv", b"id,model,score\n", "has no rows"),
        ("ragged.csv", b"id,model,score\n1,a,2,3\n", "found 4 cells"),
        ("latin.csv", "id,model,score\n1,a,2\n2,\xfc,3\n".encode("latin-1"), "iconv -f cp1252"),
        ("deep.json", b"[" * 200_000, "nested too deep"),
        ("other.json", b'{"some": 1}', "no known form"),
        ("other.eval", b"PK\x03\x04 and nothing", "no .eval file"),
        ("other.parquet", b"\x93\x01\xfe", "is no Parquet file, though it is called one"),
        ("cut.parquet", b"PAR1 and nothing", "cannot be read as Parquet"),
        ("packed.csv.gz", b"\x1f\x8b\x08 and more", "is packed, and what is packed is not read"),
        ("twice.jsonl", b'{"id": 1, "model": "a", "score": 1, "score": 0}', "'score' twice in one"),
        (
            "alike.csv",
            "id,model,score\n1,a,2\n1,a\u200b,3\n".encode(),
            r"'a' and 'a\u200b' look the same",
        ),
    ],
)
def test_files_of_other_forms_are_refused_in_a_line(
    here: Path, matrix: Matrix, name: str, content: bytes, told: str
) -> None:
    (here / name).write_bytes(content)
    found = matrix("import", name)
    assert found.code == 2
    assert told in found.stderr
    assert found.stderr.count("\n") == 1


def test_what_is_no_plain_file_is_not_waited_for(here: Path, matrix: Matrix) -> None:
    import os

    os.mkfifo(here / "pipe.csv")
    assert "no plain file" in matrix("import", "pipe.csv").stderr
    assert matrix("import", "/dev/zero").code == 2


@pytest.mark.slow
def test_a_zip_that_unpacks_to_more_than_a_file_may_have_is_let_be(
    here: Path, matrix: Matrix
) -> None:
    with zipfile.ZipFile(here / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b'{"eval": {}, "x": "' + b"a" * 300_000_000 + b'"}')
    assert "unpacks to more than" in matrix("import", "bomb.eval").stderr


def test_a_unit_that_is_twice_in_a_variant_is_a_mistake_and_a_repeat_is_none(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:3], repeat] for row in paired(5.0, 12) for repeat in (1, 2)]
    write_csv(here / "twice.csv", ("id", "model", "score", "again"), rows)
    refused = matrix("import", "twice.csv")
    assert refused.code == 2
    assert "the unit 'q0' is there twice for a: at twice.csv:2 and twice.csv:3" in refused.stderr
    taken = matrix("import", "twice.csv", "--repeat", "again")
    assert taken.code == 0
    assert "each averaged over up to 2 repeats, paired by id" in " ".join(taken.stdout.split())


def test_rows_that_nothing_pairs_are_samples_whatever_their_order(here: Path) -> None:
    draws = random.Random(3)
    rows = [
        [model, round(draws.gauss(mean, 3), 3)]
        for model, mean, n in (("a", 10, 80), ("b", 13, 30))
        for _ in range(n)
    ]
    first = write_csv(here / "one.csv", ("model", "score"), rows)
    other = write_csv(here / "two.csv", ("model", "score"), sorted(rows, key=str))
    studies = [
        python_api.import_results(path, results=here / "results").compare()
        for path in (first, other)
    ]
    for study in studies:
        assert study.winner == "b"
        assert "Welch" in study.rests_on
        assert "80 rows of a, 30 rows of b" in study.rests_on
    one, two = (study.verdict.comparisons[0] for study in studies)
    assert (one.difference, one.interval) == pytest.approx((two.difference, two.interval))


def test_the_interval_of_rows_that_nothing_pairs_is_welchs(here: Path) -> None:
    from matrix.stats import welch

    draws = random.Random(4)
    scores = {
        "a": [draws.gauss(0, 1) for _ in range(40)],
        "b": [draws.gauss(1, 4) for _ in range(15)],
    }
    rows = [[model, repr(one)] for model, own in scores.items() for one in own]
    write_csv(here / "r.csv", ("model", "score"), rows)
    study = python_api.import_results(here / "r.csv", results=here / "results").compare()
    expected = welch(scores["a"], scores["b"])
    pair = study.verdict.comparisons[0]
    assert pair.interval is not None
    assert expected.interval is not None
    assert (pair.a, pair.b) == (0, 1)
    assert pair.interval.low == pytest.approx(expected.interval.low)
    assert pair.interval.high == pytest.approx(expected.interval.high)


def test_units_that_one_variant_lacks_are_in_no_pair_and_are_told(here: Path) -> None:
    rows = [row for row in paired(6.0) if not (row[1] == "b" and row[0] in ("q3", "q7"))]
    write_csv(here / "r.csv", HEADERS, rows)
    study = python_api.import_results(here / "r.csv", results=here / "results").compare()
    assert study.verdict.rounds_used == 58
    assert "2 units are not there for every variant" in study.rests_on


def test_errors_count_as_failures_and_hold_a_winner_back(here: Path) -> None:
    rows = [[*row[:3], "timeout" if row[1] == "b" and n % 5 == 1 else ""]
            for n, row in enumerate(paired(9.0))]  # fmt: skip
    write_csv(here / "r.csv", ("id", "model", "score", "error"), rows)
    study = python_api.import_results(here / "r.csv", results=here / "results").compare()
    assert study.winner is None
    assert "failure gate not passed" in study.verdict.reasons
    assert next(row.failed for row in study.rows if row.level == "b") == 12


def test_money_is_what_the_file_says_and_counts_to_no_cap(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", HEADERS, paired(6.0))
    run = python_api.import_results(here / "r.csv", results=here / "results")
    assert run.file.imported
    assert run.file.cap_nano == 0
    assert run.sessions().cost_nano.sum() == 120 * 2_000_000
    assert "$0.24 elsewhere, as the files say; it counts to no cap" in matrix("show", "last").stdout
    assert matrix("budgets").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["b", "ab"])
def test_a_cost_that_no_file_tells_is_not_taken_for_nothing(
    here: Path, matrix: Matrix, blank: str
) -> None:
    rows = [[*row[:3], "" if str(row[1]) in blank else row[3], row[4]] for row in paired(1.0, 20)]
    write_csv(here / "r.csv", HEADERS, rows)
    made = matrix("import", "r.csv", "--run-id", "it")
    left = f"cost_usd (blank in {20 * len(blank)} of 40 rows: of costs nothing is said)"
    assert left in " ".join(made.stdout.split())
    compared = matrix("compare", "it").stdout
    assert "frontier" not in compared
    assert "(about $" not in compared, "nobody knows what more would cost"
    why = f"{20 * len(blank)} of 40 rows have no cost, so nothing is said of costs"
    assert why in matrix("show", "it").stdout
    assert why in matrix("report", "it", "--format", "github").stdout


def test_a_verdict_on_imported_results_and_what_it_would_take_say_one_number(
    here: Path, matrix: Matrix
) -> None:
    right = {("a", unit): unit < 6 for unit in range(20)} | {
        ("b", unit): unit < 11 for unit in range(20)
    }
    rows = [[f"q{unit}", model, int(yes), 0.01, 1] for (model, unit), yes in right.items()]
    write_csv(here / "r.csv", HEADERS, rows)
    matrix("import", "r.csv", "--run-id", "it")
    told = " ".join(matrix("compare", "it").stdout.split())
    (needed,) = set(re.findall(r"about ([\d,]+) more units needed for that", told))
    assert f"About {needed} more units (about $" in told
    assert "may not grow" not in told, "nothing was declared of it"


@pytest.mark.slow
def test_what_needs_a_journal_says_in_a_line_that_there_is_none(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", HEADERS, paired(6.0))
    assert matrix("import", "r.csv", "--run-id", "mine").code == 0
    for words in (
        ("resume", "mine"),
        ("replay", "mine", "best", "--turn", "1"),
        ("branch", "mine", "best", "--turn", "1", "--variants", "x=1,2"),
        ("rejudge", "mine", "--judge", "sim/opus-4.5"),
        ("export", "mine", "best", "-o", "x.json"),
        ("diff", "mine"),
        ("label", "mine"),
        ("repair", "mine"),
        ("archive", "mine"),
    ):
        found = matrix(*words)
        assert found.code == 1, words
        assert found.stderr.startswith("error: mine was imported, so it has no journal"), words
        assert found.stderr.count("\n") == 1, words
    for works in (
        ("list",),
        ("compare", "mine"),
        ("power", "--from", "mine", "--effect", "3"),
        ("report", "mine"),
        ("report", "mine", "--session", "worst"),
        ("report", "mine", "--format", "md"),
        ("report", "mine", "--format", "github"),
        ("report", "mine", "--format", "junit"),
        ("report", "mine", "--format", "csv"),
        ("show", "mine", "--json"),
        ("show", "mine", "best"),
        ("archive", "--older-than", "0d"),
    ):
        assert matrix(*works).code == 0, works


@pytest.mark.slow
def test_two_imports_are_compared_where_they_have_the_same_units(
    here: Path, matrix: Matrix
) -> None:
    for name, model in (("one", "a"), ("two", "b")):
        rows = [row[:1] + row[2:3] for row in paired(6.0) if row[1] == model]
        draws = random.Random(name)
        draws.shuffle(rows)
        write_csv(here / f"{name}.csv", ("id", "score"), rows)
    write_csv(here / "less.csv", ("id", "model", "score"), [r[:3] for r in paired(1.0, 20)])
    together = python_api.import_results(
        [here / "one.csv", here / "two.csv"], results=here / "results"
    ).compare()
    assert together.winner == "two"
    for name in ("one", "two"):
        plain = [[*row, "x"] for row in csv.reader((here / f"{name}.csv").open())][1:]
        write_csv(here / f"{name}-v.csv", ("id", "score", "model"), plain)
        matrix("import", f"{name}-v.csv", "--run-id", name)
    apart = matrix("compare", "one", "two")
    assert "two beats one" in apart.stdout
    assert matrix("import", "less.csv", "--run-id", "less").code == 0
    assert "do not have the same units" in matrix("compare", "one", "less").stderr


PROMPTFOO_PROVIDERS = ("openai:gpt-4o", "anthropic:claude")


def promptfoo_results(version: int) -> dict[str, Any]:
    draws, results = random.Random(5), list[dict[str, Any]]()
    for repeat in range(2):
        for test in range(60):
            for place, provider in enumerate(PROMPTFOO_PROVIDERS):
                passed = draws.random() < 0.5 + 0.4 * place
                one: dict[str, Any] = {
                    "provider": {"id": provider},
                    "prompt": {"raw": f"Say {test}", "label": "Say {{x}}"},
                    "vars": {"x": test},
                    "success": passed,
                    "score": float(passed),
                    "latencyMs": 500,
                    "namedScores": {"tone": 0.5},
                }
                if version > 2:
                    one |= {
                        "testIdx": repeat * 60 + test,
                        "promptIdx": place,
                        "cost": 0.001,
                        "failureReason": 0 if passed else 1,
                        "error": None if passed else "Expected more",
                        "response": {"output": "hi", "tokenUsage": {"prompt": 9, "completion": 4}},
                    }
                results.append(one)
    return {"results": {"version": version, "results": results}}


@pytest.mark.parametrize("version", [2, 3])
def test_promptfoos_results_are_paired_by_test_and_a_repeated_test_is_one_unit(
    here: Path, version: int
) -> None:
    (here / "pf.json").write_text(json.dumps(promptfoo_results(version)))
    run = python_api.import_results(here / "pf.json", results=here / "results")
    assert run.file.plan.rounds == 60
    assert run.file.plan.factors["provider"] == PROMPTFOO_PROVIDERS
    assert set(run.sessions().outcome) == {"completed"}  # what fell short is no error
    assert run.sessions().duration_s.unique() == pytest.approx([0.5])
    assert run.compare().winner == "anthropic:claude"


def test_promptfoos_errors_are_failures(here: Path) -> None:
    found = promptfoo_results(3)
    broken = found["results"]["results"][1]
    broken |= {"failureReason": 2, "error": "API error: 500", "score": 0, "response": {}}
    (here / "pf.json").write_text(json.dumps(found))
    run = python_api.import_results(here / "pf.json", results=here / "results")
    assert list(run.sessions().outcome).count("failed") == 1


def inspect_log(path: Path, model: str, chance: float, form: str) -> Path:
    draws = random.Random(model)
    samples = [
        {
            "id": number,
            "epoch": epoch,
            "input": "What?",
            "target": "that",
            "scores": {
                "match": {"value": "C" if draws.random() < chance else "I"},
                "length": {"value": draws.random()},
            },
            "model_usage": {model: {"input_tokens": 10, "output_tokens": 4}},
            "total_time": 1.5,
        }
        for number in range(60)
        for epoch in (1, 2)
    ]
    header = {"version": 2, "status": "success", "eval": {"task": "sums", "model": model}}
    if form == "json":
        path.write_text(json.dumps({**header, "samples": samples}))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        if form == "summaries":
            archive.writestr("summaries.json", json.dumps(samples))
        for one in samples:
            name = f"samples/{one['id']}_epoch_{one['epoch']}.json"
            archive.writestr(name, json.dumps(one))
    return path


def packed_by_zstd(path: Path, entries: dict[str, bytes]) -> Path:
    """A zip of method 93, as inspect_ai writes its logs today."""
    whole, directory = b"", b""
    for name, content in entries.items():
        packed = pa.compress(content, codec="zstd", asbytes=True)
        sizes = (zlib.crc32(content), len(packed), len(content), len(name), 0)
        directory += struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, len(whole)
        )
        directory += name.encode()
        whole += struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 93, 0, 33, *sizes)
        whole += name.encode() + packed
    ends = (len(entries), len(entries), len(directory), len(whole), 0)
    path.write_bytes(whole + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, *ends))
    return path


def test_a_log_of_inspect_that_is_packed_by_zstd_is_read_as_any_other(
    here: Path, matrix: Matrix
) -> None:
    with zipfile.ZipFile(inspect_log(here / "a.eval", "openai/a", 0.4, "samples")) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    log = packed_by_zstd(here / "z.eval", entries)
    of_all = [
        python_api.import_results(path, results=here / "results").sessions().score.tolist()
        for path in (here / "a.eval", log)
    ]
    assert of_all[0] == of_all[1]
    whole = log.read_bytes()
    for place in (whole.index(b"header.json") + 30, len(whole) // 2, whole.index(b"PK\1\2") - 9):
        (here / "bad.eval").write_bytes(
            whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        )
        told = matrix("import", "bad.eval", "--run-id", "bad")
        assert told.code == 2
        assert "bad.eval: is " in told.stderr
    assert not (here / "results" / "bad").exists()


@pytest.mark.slow
def test_a_log_that_zstd_unpacks_to_more_than_a_file_may_have_is_let_be(
    here: Path, matrix: Matrix
) -> None:
    content = b'{"eval": {}, "x": "' + b"a" * 300_000_000 + b'"}'
    assert packed_by_zstd(here / "bomb.eval", {"header.json": content}).stat().st_size < 100_000
    assert "unpacks to more than" in matrix("import", "bomb.eval").stderr


def test_logs_of_inspect_are_paired_by_sample_and_epochs_are_averaged(here: Path) -> None:
    logs = [
        inspect_log(here / "a.eval", "openai/a", 0.4, "summaries"),
        inspect_log(here / "b.eval", "openai/b", 0.95, "samples"),
        inspect_log(here / "c.json", "openai/c", 0.5, "json"),
    ]
    run = python_api.import_results(logs, results=here / "results")
    study = run.compare()
    assert study.winner == "openai/b"
    assert run.file.plan.rounds == 60
    assert "each averaged over up to 2 repeats, paired by sample" in study.rests_on
    assert run.sessions().tokens_in.sum() == 10 * 360
    by_length = python_api.import_results(logs, score="length", results=here / "results")
    assert by_length.sessions().score.between(0, 1).all()


def test_parquet_and_json_lines_are_read_as_a_csv_is(here: Path) -> None:
    frame = pd.DataFrame(paired(6.0), columns=list(HEADERS))
    frame.to_parquet(here / "r.parquet")
    frame.to_json(here / "r.jsonl", orient="records", lines=True)
    frame.to_json(here / "r.json", orient="records")
    frame.to_csv(here / "r.csv", index=False, sep=";")
    sentences = {
        python_api.import_results(here / f"r.{form}", results=here / "results").compare().sentence
        for form in ("parquet", "jsonl", "json", "csv")
    }
    assert len(sentences) == 1
    assert "b beats a" in sentences.pop()


def test_the_order_of_a_file_changes_nothing(here: Path) -> None:
    rows = paired(3.0)
    write_csv(here / "one.csv", HEADERS, rows)
    write_csv(here / "two.csv", HEADERS, sorted(rows, key=lambda row: float(str(row[2]))))
    one, two = (
        python_api.import_results(here / name, results=here / "results")
        for name in ("one.csv", "two.csv")
    )
    assert one.compare().sentence == two.compare().sentence
    assert sorted(one.sessions().session_id) == sorted(two.sessions().session_id)


def test_a_lower_score_can_be_the_better_one(here: Path) -> None:
    write_csv(here / "r.csv", HEADERS, paired(6.0))
    run = python_api.import_results(here / "r.csv", lower_is_better=True, results=here / "results")
    assert run.compare().winner == "a"


def test_an_import_that_is_wrong_leaves_nothing(here: Path) -> None:
    write_csv(here / "r.csv", ("model", "score"), [["a", "x"]])
    with pytest.raises(BadInput):
        python_api.import_results(here / "r.csv", results=here / "results")
    assert not (here / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("named", ["alike", "apart"])
def test_unequal_repeats_of_a_unit_are_averaged_before_anything_is_compared(
    here: Path, matrix: Matrix, named: str
) -> None:
    draws, rows = random.Random(5), list[list[object]]()
    for unit in range(30):
        base = draws.gauss(50, 5)
        for at, (variant, more) in enumerate([("a", 0), ("b", 2), ("b", -6), ("b", -6)]):
            again = max(0, at - 1) if named == "alike" else f"s{draws.random()}"
            rows.append([f"u{unit}", variant, again, round(base + more + draws.gauss(0, 2), 2)])
    write_csv(here / "r.csv", ("unit", "variant", "seed", "score"), rows)
    assert matrix("import", "r.csv", "--run-id", "it", "--repeat", "seed").code == 0
    found = json.loads(matrix("compare", "it", "--json").stdout)
    frame = pd.DataFrame(rows, columns=["unit", "variant", "again", "score"])
    means = frame.groupby(["unit", "variant"])["score"].mean().unstack()
    differences = means["b"] - means["a"]
    [pair] = found["pairs"]
    assert pair["difference"] == pytest.approx(differences.mean())
    half = stats.t.ppf(0.975, 29) * differences.std() / 30**0.5
    assert pair["high"] - pair["low"] == pytest.approx(2 * half)
    assert found["winner"] == "a"
    assert "not there" not in found["rests_on"]
    assert "left out" not in found["rests_on"]
    own = {row["level"]: row["mean"] for row in found["variants"]}
    assert own == pytest.approx(means.mean().to_dict())


def test_percent_signs_are_hundredths_in_scores_and_metrics_and_it_is_said(
    here: Path, matrix: Matrix
) -> None:
    rows = [[q, m, f"{round(float(str(x)))}%", "12 %"] for q, m, x, *_ in paired(6.0)]
    write_csv(here / "r.csv", ("id", "model", "score", "share"), rows)
    done = matrix("import", "r.csv", "--run-id", "mine")
    assert "score    score, 85% as .85" in done.stdout
    run = python_api.open_run("mine", results=here / "results")
    assert run.sessions().score.between(0, 2).all()
    assert set(run.frame("scores").query("name == 'share'").value) == {0.12}


@pytest.mark.parametrize(
    ("score", "cost", "told"),
    [
        ("85", "0.1", "score: has a percent sign in some cells and none in others"),
        ("85%", "3%", "cost: found '3%', which is no number; a percent sign is read in scores"),
        ("8%5%", "0.1", "score: found '8%5%', which is no number"),
    ],
)
def test_percent_signs_that_may_mean_several_things_are_refused(
    here: Path, matrix: Matrix, score: str, cost: str, told: str
) -> None:
    rows = [["1", "a", "70%", "0.1"], ["1", "b", score, cost]]
    write_csv(here / "r.csv", ("id", "model", "score", "cost"), rows)
    done = matrix("import", "r.csv")
    assert done.code == 2
    assert told in done.stderr


def test_an_import_onto_a_run_that_is_there_is_told_what_works(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", HEADERS, paired(6.0))
    assert matrix("import", "r.csv", "--run-id", "mine").code == 0
    done = matrix("import", "r.csv", "--run-id", "mine")
    assert done.code == 2
    assert "choose another name with --run-id" in done.stderr
    assert "resume" not in done.stderr


def test_the_interval_of_a_yes_or_no_metric_stays_between_0_and_1(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:3], int(n not in (7, 10))] for n, row in enumerate(paired(6.0, 30))]
    write_csv(here / "r.csv", ("id", "model", "score", "found"), rows)
    run = python_api.import_results(here / "r.csv", results=here / "results")
    study = run.compare(metric="found")
    assert all(0.9 < (row.high or 0.0) <= 1.0 for row in study.rows)
    assert min(row.mean or 0.0 for row in study.rows) < 1.0


@pytest.mark.slow
def test_results_that_failed_without_a_score_are_failures_by_what_their_status_says(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:3], "completed"] for row in paired(8.0)]
    for row in rows[1::6]:  # the better one fails in a third of its results
        row[2:] = ["", "failed"]
    write_csv(here / "r.csv", ("id", "model", "score", "outcome"), rows)
    done = matrix("import", "r.csv", "--run-id", "mine")
    assert "status   outcome, of results without a score" in done.stdout
    found = json.loads(matrix("compare", "mine", "--json").stdout)
    assert found["winner"] is None
    assert {row["level"]: row["failed"] for row in found["variants"]} == {"a": 0, "b": 20}
    scored = [[*row[:3], "failed" if row[2] < 50 else "passed"] for row in paired(8.0)]  # type: ignore[operator]
    write_csv(here / "s.csv", ("id", "model", "score", "outcome"), scored)
    assert matrix("import", "s.csv", "--run-id", "all").code == 0
    kept = json.loads(matrix("compare", "all", "--json").stdout)
    assert [row["failed"] for row in kept["variants"]] == [None, None], "a score is no failure"
    assert kept["winner"] == "b"
    beside = [[*row[:3], "completed"] for row in paired(8.0)]
    for row in beside[1::6]:
        row[3] = "failed"  # whatever the score
    write_csv(here / "t.csv", ("id", "model", "score", "outcome"), beside)
    done = matrix("import", "t.csv", "--run-id", "both")
    assert "by it 20 failed that have a score, which does not count" in " ".join(
        done.stdout.split()
    )
    found = json.loads(matrix("compare", "both", "--json").stdout)
    assert found["winner"] is None
    assert {row["level"]: row["failed"] for row in found["variants"]} == {"a": 0, "b": 20}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fine", "wrong"),
    [
        ("ok", "error"),
        ("OK", "FAILED"),
        ("success", "error"),
        ("pass", "fail"),
        ("done", "timeout"),
    ],
)
def test_words_for_how_results_ended_are_read_however_common(
    here: Path, matrix: Matrix, fine: str, wrong: str
) -> None:
    """``ok`` and ``error`` are words for scores, too."""
    rows = [[*row[:3], fine] for row in paired(8.0)]
    for row in rows[1::6]:
        row[2:] = ["", wrong]
    write_csv(here / "r.csv", ("id", "model", "score", "status"), rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    found = json.loads(matrix("compare", "it", "--json").stdout)
    assert found["winner"] is None
    assert {row["level"]: row["failed"] for row in found["variants"]} == {"a": 0, "b": 20}
    assert "do not say what failed" not in found["verdict"]
    write_csv(here / "s.csv", ("id", "model", "score", "how it went"), rows)
    assert matrix("import", "s.csv", "--run-id", "named", "--status", "how it went").code == 0
    named = json.loads(matrix("compare", "named", "--json").stdout)
    assert [row["failed"] for row in named["variants"]] == [0, 20]


def test_a_timeout_with_a_score_of_nought_is_a_failure_and_no_score(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:3], "ok"] for row in paired(8.0)]
    for row in rows[1::6]:
        row[2:] = [0, "timeout"]
    write_csv(here / "r.csv", ("id", "model", "score", "status"), rows)
    assert "by it 20 failed that have a score" in matrix("import", "r.csv", "--run-id", "it").stdout
    found = json.loads(matrix("compare", "it", "--json").stdout)
    assert {row["level"]: row["failed"] for row in found["variants"]} == {"a": 0, "b": 20}
    assert min(row["mean"] for row in found["variants"]) > 40


@pytest.mark.slow
def test_units_of_a_topic_stay_units_and_topics_weigh_alike(here: Path, matrix: Matrix) -> None:
    """Sixty questions of three topics, 38, 12 and 10, are sixty units."""
    topic = {unit: "big" if unit < 38 else "mid" if unit < 50 else "few" for unit in range(60)}
    rows = [[*row, topic[at // 2]] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    made = matrix("import", "r.csv", "--run-id", "it").stdout
    assert "topic (3, which weigh alike)" in made
    assert "over 60 complete units" in " ".join(made.split())
    frame = pd.DataFrame(rows, columns=[*HEADERS, "topic"])
    wide = frame.pivot_table(index=["topic", "question_id"], columns="model", values="score")
    by_topic = (wide["b"] - wide["a"]).groupby("topic").mean()
    found = json.loads(matrix("compare", "it", "--json").stdout)
    assert found["pairs"][0]["difference"] == pytest.approx(by_topic.mean())
    power = json.loads(matrix("power", "--from", "it", "--effect", "3", "--json").stdout)
    assert power["pairs_per_round"] == 1
    assert power["needed"]["sessions"] == 2 * power["needed"]["rounds"]


def test_a_column_that_has_hardly_two_units_of_anything_is_no_scenario_by_itself(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row, f"t{at // 6}"] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert "topic (has fewer than 10 units in some: --scenario topic takes it all the same)" in made
    assert "Verdict: b beats a by" in made
    whole = matrix("import", "r.csv", "--run-id", "all", "--scenario", "topic").stdout
    assert "topic (20, which weigh alike)" in whole


def test_who_has_no_score_at_all_is_not_said_to_have_lost(here: Path, matrix: Matrix) -> None:
    rows = paired(6.0) + [[f"q{unit}", "c", "", 0.002, 1] for unit in range(60)]
    write_csv(here / "r.csv", HEADERS, rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert "Nothing is known of c: this is about the other variants." in made
    assert "whatever they had scored" not in made


@pytest.mark.slow
def test_what_less_is_better_of_is_known_by_its_name_or_said(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 10 + (n % 7) + 5 * (row[1] == "b"), (n % 5) + 3 * (row[1] == "b")]
            for n, row in enumerate(paired(6.0))]  # fmt: skip
    write_csv(here / "r.csv", ("id", "model", "score", "latency_p95", "clicks"), rows)
    assert "less is better: latency_p95" in matrix("import", "r.csv", "--run-id", "it").stdout
    for run, metric, better in (("it", "latency_p95", "a"), ("it", "clicks", "b")):
        found = json.loads(matrix("compare", run, "--metric", metric, "--json").stdout)
        assert found["winner"] == better
    assert matrix("import", "r.csv", "--run-id", "said", "--lower", "clicks").code == 0
    said = json.loads(matrix("compare", "said", "--metric", "clicks", "--json").stdout)
    assert said["winner"] == "a"
    wrong = matrix("import", "r.csv", "--lower", "clicsk")
    assert wrong.code == 2
    assert "--lower: found 'clicsk'; metrics are clicks, latency_p95; did you mean" in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["failed", "tokens_out", "duration_s", "calls", "turns"])
def test_what_no_file_tells_is_no_metric_and_passes_no_gate(
    here: Path, matrix: Matrix, metric: str
) -> None:
    write_csv(here / "r.csv", HEADERS, paired(6.0))
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    for asked in (("--metric", metric), ("--threshold", f"{metric}=.5", "--fail-on", "threshold")):
        done = matrix("compare", "it", *asked)
        assert done.code == 2, done
        assert f"found '{metric}', of which the imported files tell nothing; they have:" in (
            done.stderr
        )
    assert "cost_usd" in {row["metric"] for row in _others(matrix)}
    assert metric not in {row["metric"] for row in _others(matrix)}


def _others(matrix: Matrix) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(matrix("compare", "it", "--json").stdout)[
        "other_metrics"
    ]["rows"]
    return found


def test_a_score_of_which_less_is_better_is_told_as_that(here: Path, matrix: Matrix) -> None:
    write_csv(here / "r.csv", ("id", "model", "error_rate"), [row[:3] for row in paired(8.0)])
    made = matrix("import", "r.csv", "--score", "error_rate", "--run-id", "it")
    assert "error_rate (less is better; --higher-is-better turns it)" in made.stdout
    assert "Verdict: a beats b" in made.stdout


def test_rows_of_topics_that_nothing_pairs_are_counted_as_rows(here: Path, matrix: Matrix) -> None:
    rows = [[*row, f"t{at // 2 % 4}"] for at, row in enumerate(paired(16.0))]
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    made = matrix("import", "r.csv", "--unit", "none", "--run-id", "it").stdout
    assert "over 60 rows of " in " ".join(made.split())
    power = json.loads(matrix("power", "--from", "it", "--effect", "9", "--json").stdout)
    assert power["needed"]["sessions"] == 2 * power["needed"]["rounds"]


def test_what_missing_scores_could_do_says_between_what_they_lie(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:3]] for row in paired(8.0)]
    for row in rows[:12]:
        row[2] = ""
    write_csv(here / "r.csv", ("id", "model", "score"), rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert "the least and the most that was seen" in made or "had averaged below" in made
    if "gone as" in made:
        assert "had those of b gone as badly and those of a as well as can be" in made


def test_a_table_of_a_data_set_of_ours_says_what_comes_back(finished: Path, matrix: Matrix) -> None:
    assert matrix("export", "first", "--to", "hf", "-o", "set").code == 0
    (path,) = (finished / "set" / "sessions").glob("*.parquet")
    done = matrix("import", str(path), "--variant", "prompt")
    assert done.code == 2
    assert "`matrix export RUN --to csv` or `--to inspect` come back" in done.stderr


def test_what_a_variant_has_no_row_of_is_no_session_that_errored(
    here: Path, matrix: Matrix
) -> None:
    rows = [row for at, row in enumerate(paired(9.0)) if row[1] == "a" or at % 4 == 1]
    write_csv(here / "r.csv", HEADERS, rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    told = " ".join(matrix("compare", "it").stdout.split())
    assert "over 30 complete units" in told
    assert "errored, against" not in told
    assert "have no score" not in told


@pytest.mark.slow
def test_lines_of_promptfoo_are_read_as_its_results_are(here: Path, matrix: Matrix) -> None:
    """An answer that falls short has its reason as an error there, and is no failure."""
    results = [
        {
            "provider": {"id": f"model-{name}"}, "prompt": {"raw": "Say it", "label": "it"},
            "promptIdx": 0, "testIdx": test, "vars": {"q": f"q{test}"}, "cost": 0.001,
            "success": good, "score": float(good), "failureReason": int(not good),
            "gradingResult": {"pass": good, "score": float(good), "reason": "so"},
            "namedScores": {"latency": 1.0 + test % 3},
            **({} if good else {"error": "Expected output to contain it"}),
        }
        for test in range(30)
        for name in ("a", "b")
        for good in [bool((test + (name == "a")) % 3)]
    ]  # fmt: skip
    (here / "it.json").write_text(json.dumps({"results": {"results": results}}))
    (here / "it.jsonl").write_text("\n".join(map(json.dumps, results)))
    found = []
    for name in ("it.json", "it.jsonl"):
        run = name.replace(".", "-")
        made = " ".join(matrix("import", name, "--run-id", run).stdout.split())
        assert "results of promptfoo" in made
        assert "less is better: latency" in made
        told = json.loads(matrix("compare", run, "--json").stdout)
        found.append([(row["level"], row["mean"], row["failed"]) for row in told["variants"]])
    assert found[0] == found[1]
    assert {failed for _, _, failed in found[0]} == {0}


@pytest.mark.slow
def test_a_mean_that_passes_for_want_of_its_worst_scores_says_at_which_mean_of_theirs_it_would_not(
    here: Path, matrix: Matrix
) -> None:
    draw = random.Random(4)
    marks = [draw.gauss(20, 2) if place < 9 else draw.gauss(80, 4) for place in range(50)]
    rows = [["x", place, "" if place < 9 else f"{mark:.1f}"] for place, mark in enumerate(marks)]

    def held(name: str, of_the_lost: str) -> Any:
        filled = [[*row[:2], row[2] or of_the_lost] for row in rows]
        write_csv(here / f"{name}.csv", ["variant", "item", "score"], filled)
        matrix("import", f"{name}.csv", "--run-id", name)
        asked = matrix("compare", name, "--threshold", "score=75", "--json").stdout
        return json.loads(asked)["gate"]["thresholds"][0]

    lost = held("lost", "")
    turns = lost["variants"][0]["turns_at"]
    assert lost["variants"][0]["fragile"]
    told = f"fragile: not met if those without a score had averaged below {turns:.1f}"
    assert told in lost["sentence"]
    assert held("above", f"{turns + 0.01:.4f}")["verdict"] == "pass"
    assert held("below", f"{turns - 0.01:.4f}")["verdict"] != "pass"
