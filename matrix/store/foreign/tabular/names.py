"""What columns of results are usually called, and which words they have; all of it in one place.

What of it a user may want to know stands in `docs/import.md`, which a test holds against this.
"""

from __future__ import annotations

import re
from typing import Final

from matrix.model.lines import words_in

UNIT: Final = (
    "unit", "unit_id", "id", "sample_id", "sample", "question_id", "question", "item_id", "item",
    "case_id", "case", "test_case", "test_id", "test", "task_id", "example_id", "example", "doc_id",
    "prompt_id", "row_id", "idx", "index", "task", "input", "seed", "round", "frage", "frage_id",
    "frage_nr", "question_no", "question_number", "aufgabe", "beispiel", "instance_id", "instance",
    "test_name", "case_name", "problem_id", "utterance_id", "record_id", "query_no", "qid",
    "reference_example_id", "testfall", "identifiant",
)  # fmt: skip
COUNTERS: Final = frozenset(
    {"", "row", "row_id", "row_number", "row_no", "index", "idx", "nr", "no", "unnamed_0"}
)
"""Columns that may only count rows: an index that some program wrote along."""
PEOPLE: Final = (
    "user", "uid", "username", "email", "customer", "client", "account", "member", "visitor",
    "participant", "subject", "respondent", "person", "patient", "student", "rater", "annotator",
    "reviewer", "labeler", "labeller", "evaluator", "nutzer", "benutzer", "kunde", "kundin",
    "bewerter", "judged_by", "rated_by", "graded_by", "annotated_by", "labeled_by", "labelled_by",
    "grader", "judge", "expert", "assessor", "coder", "worker", "prolific_pid",
)  # fmt: skip
"""Names, also with ``_id``, of who has rows: where each is in one variant, the unit is they."""
WHOSE: Final = (
    *PEOPLE, "session", "conversation", "thread", "chat", "ticket", "document", "doc", "file_name",
    "filename", "article", "page", "book", "chapter", "passage", "problem", "repo", "repository",
    "author", "team", "clinic", "hospital", "school", "site", "store", "shop", "company", "tenant",
    "household", "batch", "sitzung", "dokument", "gespr_ch", "klinik", "schule", "filiale",
)  # fmt: skip
"""Names, also with ``_id``, of whose rows they are: a unit where no other column pairs any."""
VARIANT: Final = (
    "variant", "model", "model_name", "provider", "arm", "condition", "system", "config",
    "treatment", "group", "method", "agent", "candidate", "prompt_version", "prompt", "variante",
    "modell", "gruppe", "bedingung", "modele", "experiment", "version",
)  # fmt: skip
SCORE: Final = (
    "score", "accuracy", "acc", "correct", "is_correct", "passed", "pass", "success", "reward",
    "rating", "grade", "quality", "exact_match", "em", "f1", "value", "result", "punkte",
    "punktzahl", "bewertung", "wert", "ergebnis", "note",
)  # fmt: skip
SOLE_SCORE: Final = frozenset(
    {
        "judge_score", "llm_score", "eval_score", "model_score", "total_score", "final_score",
        "overall_score", "overall", "graded_score", "csat", "csat_score", "nps", "stars",
        "thumbs_up", "faithfulness", "relevance", "relevancy", "answer_relevance",
        "answer_relevancy", "answer_correctness", "correctness", "helpfulness", "groundedness",
        "context_precision", "context_recall", "precision", "recall", "bleu", "rouge", "rouge_l",
        "bertscore", "win", "won", "solved", "resolved", "is_passed", "is_success", "successful",
    }
)  # fmt: skip
"""Names of scores of which tables have several: a score where there is one of them alone."""
COST: Final = ("cost_usd", "cost", "usd", "total_cost", "cost_dollars", "price_usd", "price")
CURRENCY: Final = frozenset({"currency", "cost_currency", "price_currency", "waehrung", "w_hrung"})
"""Columns that say which currency the costs of their rows are in."""
SCENARIO: Final = ("scenario", "category", "dataset", "subset", "domain", "topic", "story")
REPEAT: Final = ("repeat", "epoch", "trial", "attempt", "replicate", "run_index")
FLAG: Final = (
    "failed", "is_failed", "has_failed", "failure", "error", "is_error", "has_error", "errored",
    "crashed", "timed_out", "timeout", "exception",
)  # fmt: skip
"""Columns of yes and no, in which yes is a failure."""
MAY_BE_SCORE: Final = frozenset({"failed", "is_failed", "has_failed", "failure"})
"""Those of them that may say of an answer only that it was wrong, as a score of two values does."""
ERROR: Final = ("error", "error_message", "exception", "failure_reason")
STATUS: Final = (
    "outcome", "status", "state", "end_state", "exit_status", "exit_code", "status_code",
    "http_status",
)  # fmt: skip
EXIT: Final = frozenset({"exit_status", "exit_code", "returncode", "return_code"})
"""Columns of numbers of which 0 is a success, and any other a failure."""
WENT_WELL: Final = frozenset({"ok", "is_ok", "success", "successful", "succeeded", "completed"})
"""Columns of yes and no, in which no is a failure, where the user names them for a status."""
TOKENS_IN: Final = ("tokens_in", "input_tokens", "prompt_tokens")
TOKENS_OUT: Final = ("tokens_out", "output_tokens", "completion_tokens")
SECONDS: Final = ("duration_s", "latency_s", "seconds", "time_s", "total_time")
MILLISECONDS: Final = ("latency_ms", "latencyms", "duration_ms", "time_ms")
ASKED: Final = ("input", "prompt_text", "query", "user", "instruction")
REQUESTS: Final = (
    "prompt",
    "prompt_text",
    "query",
    "query_id",
    "request",
    "request_id",
    "utterance",
    "instruction",
    "user_input",
    "user_message",
    "anfrage",
    "eingabe",
)
"""What was asked: a unit where several variants were asked the same."""
SUMS: Final = frozenset(
    {
        "average", "avg", "mean", "median", "total", "totals", "grand total", "sum", "overall",
        "std", "stdev", "stddev", "std dev", "min", "max", "count", "summe", "gesamt", "mittelwert",
        "durchschnitt", "mittel", "insgesamt", "gesamtergebnis", "gesamtsumme", "all", "macro avg",
        "micro avg", "weighted avg", "macro average", "micro average", "total général", "moyenne",
        "total general", "promedio",
    }
)  # fmt: skip
"""What a row is called that sums up the others; as :func:`spoken` writes it."""
SUM_WORDS: Final = frozenset(
    {
        "average", "avg", "mean", "median", "total", "sum", "overall", "std", "stdev", "summe",
        "gesamt", "mittelwert", "durchschnitt", "moyenne", "promedio",
    }
)  # fmt: skip
SUMMED: Final = frozenset(
    {
        "score", "scores", "points", "punkte", "accuracy", "rate", "value", "values", "result",
        "results", "ergebnis", "wert", "werte", "cost", "costs", "n", "of", "all", "rows", "row",
        "dev", "total", "note", "pass", "passed", "correct", "questions", "items",
    }
)  # fmt: skip
"""What such a row begins with, and what may follow there: ``Average (n=20)``, ``Summe Punkte``."""
MEASURES: Final = frozenset(
    {
        "metric", "metrics", "metric_name", "metricname", "measure", "measures", "score_name",
        "scorename", "score_type", "scorer", "scorer_name", "criterion", "criteria", "kpi",
        "kennzahl", "kriterium", "aspect", "aspekt", "rubric", "evaluation_name", "evaluator_name",
    }
)  # fmt: skip
"""What a column of names of scores is called, in tables with a row for each score."""
MAY_MEASURE: Final = frozenset({"name", "key", "type", "dimension", "evaluation", "evaluator"})
"""The same where a unit has rows of several, or rows of every variant are of the same few."""
ANSWERED: Final = ("output", "answer", "response", "completion", "prediction")

YES: Final = frozenset(
    {"true", "yes", "y", "t", "✓", "✔", "ja", "j", "wahr", "oui", "vrai", "si", "sí"}
)
NO: Final = frozenset({"false", "no", "n", "f", "✗", "✘", "nein", "falsch", "non", "faux"})
RIGHT: Final = YES | {
    "pass", "passed", "correct", "right", "success", "ok", "c", "richtig", "bestanden",
}  # fmt: skip
WRONG: Final = NO | {
    "fail", "failed", "incorrect", "wrong", "failure", "i", "nicht bestanden",
}  # fmt: skip
"""Words of a score for 1 and 0. That there was an error says of no answer that it was wrong."""
MISSING: Final = frozenset({"", "-", "null", "none", "n/a", "na", "#n/a", "#nv"})
"""What stands where there is no value."""
NOTHING_WRONG: Final = MISSING | {"[]", "{}", "nan", "undefined"}
"""The same of what went wrong, as programs write an empty list or object."""


def spoken(text: str) -> str:
    """A status as the words here are written: ``Rate_limit`` and ``rate-limit`` are one."""
    whole = text.strip().casefold().removesuffix(".0")
    return " ".join(re.findall(r"[^\W_]+", whole)) or whole


def sums_up(text: str) -> bool:
    """Whether a unit's name is that of a row that sums up the others."""
    whole = spoken(text)
    first, *rest = whole.split() or [""]
    summed = first in SUM_WORDS and all(word in SUMMED or word.isdigit() for word in rest)
    return whole in SUMS or summed


BROKE: Final = frozenset(
    {
        "error", "errored", "exception", "crashed", "crash", "timeout", "timed out", "time out",
        "timedout", "time limit", "aborted", "abort", "killed", "terminated", "rate limit",
        "rate limited", "content filter", "content filtered", "refused", "refusal", "api error",
        "server error", "cancelled", "canceled", "invalid", "rejected", "interrupted", "overloaded",
        "unavailable", "throttled", "oom", "out of memory", "exceeded", "max tokens exceeded",
        "context length exceeded", "quota exceeded", "blocked", "bad request", "forbidden",
        "unauthorized", "no response", "no answer", "fatal", "segfault", "fehler",
        "zeitüberschreitung", "zeitueberschreitung", "abgebrochen", "abbruch", "abgestürzt",
        "abgestuerzt", "absturz", "abgelehnt", "verweigert", "ungültig", "ungueltig",
        "keine antwort",
    }
)  # fmt: skip
"""What a status says of a result that came to no end of its own; as :func:`spoken` writes it."""
FELL_SHORT: Final = frozenset(
    {"failed", "failure", "fail", "fehlgeschlagen", "gescheitert", "nicht bestanden"}
)
"""The same, in words that may be a score as well."""
ENDED_WELL: Final = frozenset(
    {
        "ok", "okay", "success", "successful", "succeeded", "completed", "complete", "done",
        "finished", "pass", "passed", "good", "stop", "end turn", "eos", "no error", "no errors",
        "noerror", "correct", "right", "incorrect", "wrong", "partial", "partially correct",
        "erfolg", "erfolgreich", "fertig", "abgeschlossen", "beendet", "erledigt", "bestanden",
        "gut", "kein fehler", "richtig", "falsch", "teilweise richtig",
    }
)  # fmt: skip
"""What a status says of one that did; that an answer is wrong is no failure."""
NO_RESULT: Final = frozenset(
    {
        "pending", "in progress", "not run", "not started", "started", "running", "queued",
        "scheduled", "waiting", "skipped", "todo", "ausstehend", "offen", "läuft", "wartet",
        "übersprungen",
    }
)  # fmt: skip
"""What a status says of one that is not there yet."""
BROKE_FROM: Final = ("rate limit", "ratelimit", "content filter", "invalid ", "timed out")
"""How a status begins that is one of ``BROKE``, whatever follows."""
BROKE_TO: Final = ("error", "errors", "exception", "fehler")
"""How a word ends that is one of ``BROKE``."""
DENIED: Final = frozenset({"no", "not", "without", "0", "zero", "kein", "keine", "nicht", "ohne"})
"""How a status begins that says the opposite of what follows."""


def plain(header: str) -> str:
    """A header as usual names are written: ``isError`` and ``Is error`` are ``is_error``."""
    return "_".join(words_in(header))


def may_group(header: str) -> bool:
    """Whether a column may say which rows go together: one of a usual name for results does not."""
    return plain(header) not in _OF_RESULTS


_OF_RESULTS: Final = frozenset(
    {*ANSWERED, *ERROR, *STATUS, *FLAG, *SCENARIO, *REPEAT, *CURRENCY, *SCORE, *VARIANT, *COUNTERS}
)


def is_whose(header: str) -> bool:
    """Whether a column is called as those are that say whose rows are whose."""
    return plain(header).removesuffix("_id") in WHOSE


def is_person(header: str) -> bool:
    """The same of people."""
    return plain(header).removesuffix("_id") in PEOPLE
