"""A check of a judge as text and as data."""

from __future__ import annotations

from dataclasses import asdict

from matrix.model.records import JSON
from matrix.report.compare.judges.judge_check import ENOUGH, Confusion, JudgeCheck, Share
from matrix.report.text import WIDTH, columns, facts, harmless, interval, number, plural, wrapped
from matrix.stats import AGREEMENT_WARN_BELOW


def check_as_text(check: JudgeCheck, *, width: int = WIDTH) -> str:
    """Agreement, base rates, where judge and people differ, and what that means."""
    rows = [
        ("labelled", _labelled(check)),
        ("judge", _judges(check)),
        ("agreement", _agreement(check)),
    ]
    if check.people_alpha is not None:
        said = f"alpha {check.people_alpha:.2f}: how far they agree with each other"
        rows.append(("among people", said))
    if check.people is not None:
        told = f"people {number(check.people, 3)}, judge {number(check.judge, 3)}"
        rows.append(("means", told))
    rows += error_rows(check)
    parts = [f"{check.metric}:", facts(rows, width=width)]
    if check.confusion is not None:
        parts += ["", _confusion(check.confusion)]
    if len(check.bias) > 1:
        parts += ["", _bias(check, width)]
    parts += ["", wrapped(_meaning(check), width=width)]
    return harmless("\n".join(parts))


def check_as_data(check: JudgeCheck) -> JSON:
    """The same for programs."""
    return {**asdict(check), "judges": [one._asdict() for one in check.judges], "low": check.low}


def _judges(check: JudgeCheck) -> str:
    models = ", ".join(dict.fromkeys(one.model for one in check.judges))
    if len(check.judges) == 1:
        return f"{models}, rubric {check.judges[0].rubric}"
    return f"{models or '-'}, {len(check.judges)} rubrics"


def error_rows(check: JudgeCheck) -> list[tuple[str, str]]:
    """Of a judge that gives verdicts, how often it is wrong either way."""
    return [
        (label, f"{found.count} of {found.n} {what}{_percent(found)}")
        for label, found, what in (
            ("fails wrongly", check.failed_wrongly, "that people pass"),
            ("passes wrongly", check.passed_wrongly, "that people fail"),
            ("wrong failures", check.wrong_among_failures, "that the judge fails"),
        )
        if found is not None
    ]


def _percent(found: Share) -> str:
    if found.interval is None:
        return ""
    low, high = found.interval.low, found.interval.high
    return f": {found.count / found.n:.0%} ({low:.0%} to {high:.0%})"


def _labelled(check: JudgeCheck) -> str:
    told = f"{plural(check.n, 'transcript')} by {plural(check.raters, 'person', 'people')}"
    return f"{told}; {check.unread} more that the judge has no value for" if check.unread else told


def _agreement(check: JudgeCheck) -> str:
    if check.kappa is None:
        return "not defined: there are no labels, or all values are the same"
    ends = check.interval
    sure = (
        "" if ends is None else f", {100 * ends.confidence:g} % {interval(ends.low, ends.high, 2)}"
    )
    alpha = "" if check.alpha is None else f"; alpha {check.alpha:.2f}"
    told = f"kappa {check.kappa:.2f}{sure}{alpha} (1 always, 0 by chance)"
    return told if check.raters < 2 else f"{told}, with the mean of what people say"


def _confusion(found: Confusion) -> str:
    headers = ["people \\ judge", *(f"{value:g}" for value in found.values)]
    rows = [
        [f"{value:g}", *(f"{count:,}" for count in row)]
        for value, row in zip(found.values, found.counts, strict=True)
    ]
    return columns(headers, rows, right=tuple(range(len(headers))))


def _bias(check: JudgeCheck, width: int) -> str:
    headers = ["variant", "labelled", "people", "judge", "judge - people", "95 % interval"]
    rows = [
        [
            row.level,
            f"{row.n:,}",
            number(row.people, 2),
            number(row.judge, 2),
            f"{row.bias:+.2f}",
            "-" if row.interval is None else interval(row.interval.low, row.interval.high, 2),
        ]
        for row in check.bias
    ]
    told = [
        f"The judge errs differently for {one.first} and {one.second}, by {one.difference:+.2f} "
        f"({one.sure}): what it says of them is no comparison."
        for one in check.differs
    ] or ["It is not shown to err differently for different variants."]
    table = columns(headers, rows, right=(1, 2, 3, 4))
    return "\n".join([table, *(wrapped(one, "  ", width=width) for one in told)])


def _meaning(check: JudgeCheck) -> str:
    if check.n < ENOUGH:
        return f"Too few to say: {check.n} of {ENOUGH} labelled transcripts."
    if check.kappa is None:
        return "Label transcripts that differ more: agreement cannot be told from these."
    if check.people_differ:
        return (
            f"People agree with each other below {AGREEMENT_WARN_BELOW:g}, so agreeing with their "
            "mean shows little: do not lean on this judge. Say more in the rubric until people "
            "agree, and label again."
        )
    if check.low:
        return (
            f"Below {AGREEMENT_WARN_BELOW:g}: do not lean on this judge. Say more in the rubric, "
            "or take another model; then `matrix rejudge`, and check again with the same labels."
        )
    if check.differs:
        pairs = ", ".join(f"{one.first} and {one.second}" for one in check.differs)
        return (
            f"It agrees with people well enough, but do not lean on it between {pairs}: it errs "
            "differently for them. Say in the rubric what it may not go by, or take another model; "
            "then `matrix rejudge`, and check again with the same labels."
        )
    ends = check.interval
    if ends is not None and ends.low < AGREEMENT_WARN_BELOW:
        return (
            f"Good enough by these {check.n:,}, for this model and this rubric; but kappa may be "
            f"as low as {ends.low:.2f}, and below {AGREEMENT_WARN_BELOW:g} it would not be: "
            "label more to be sure."
        )
    return "Good enough to lean on, for this model and this rubric."
