"""Writing the request of a case: what the generator is asked, how its answer is read and screened.

The answer has two parts, ``PROMPT:`` and ``HINTS:``. A request that could make a system change
anything is not sent: self-tests are read-only work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from matrix.kinds.selftest.settings import AWAITING, COMPLETE, Case

GENERATOR_HEADING: Final = "# You write test requests"
"""First line of the generator's system prompt."""

INSTRUCTIONS: Final = f"""{GENERATOR_HEADING}

You write one request that a user could send to an assistant, so that the assistant's answer shows \
whether it works. The request is about reading and explaining only: nothing in it makes anybody \
write, change, move or delete a file, run a command, install something or reach another computer.

Answer in exactly this form, and with nothing else:
PROMPT: the request, in the user's words
HINTS: what a good answer does and does not do, for the person who judges it
"""

MOST_CHARS: Final = 20_000
_PROMPT, _HINTS = (
    re.compile(rf"^[ \t>*_#-]*{word}[\s*_]*:[\s*_]*", re.MULTILINE | re.IGNORECASE)
    for word in ("PROMPT", "HINTS")
)

_COMMANDS: Final = re.compile(
    r"""(?xi) \b(?:
        rm\s+-\w*[rf] | sudo\s | mkfs | dd\s+if= | chmod\s | chown\s | shutdown\b | kill\s+-9
        | git\s+(?: push | reset | commit | clean | checkout | rebase )
        | drop\s+(?: table | database ) | truncate\s+table | delete\s+from
        | curl\s | wget\s | ssh\s | scp\s | pip\s+install | npm\s+(?: i | install | publish )\b
        | docker\s+(?: rm | run | push ) | kubectl\s | terraform\s+(?: apply | destroy )
    ) | :\(\)\s*\{ | >\s*/(?: etc | dev )/"""
)
_VERBS: Final = (
    "delete|remove|erase|wipe|overwrite|rename|move|edit|modify|change|rewrite|update|create|write|"
    "save|install|uninstall|deploy|commit|push|merge|publish|upload|send|post|execute|run|restart|"
    "migrate|drop|reset"
)
_THINGS: Final = (
    "files?|folders?|director(?:y|ies)|repositor(?:y|ies)|repos?|branch(?:es)?|databases?|tables?|"
    "servers?|productions?|commands?|scripts?|migrations?|packages?|dependenc(?:y|ies)|code|source|"
    "e-?mails?|mails?|messages?|passwords?|permissions?|users?|accounts?|customers?|orders?|"
    "records?|rows?|invoices?|backups?|config\\w*|settings?|[\\w-]+\\.(?:ya?ml|json|py|md|txt|sh|toml|"
    "ini|cfg|env|csv|sql|xml|conf|log)"
)
_DESTROYS: Final = re.compile(
    r"(?i)(?:^|[,;:]\s*|\b(?:please|then|and|now|just|bitte|dann|und|por favor|merci de)\s+)"
    r"(?:delete|erase|wipe|purge|truncate|overwrite|destroy|uninstall|lösch\w*|entfern\w*|"
    r"überschreib\w*|supprime\w*|efface\w*|borr[ae]\w*|elimin[ae]\w*)\s+\S"
)
"""Words that an order to destroy something begins with, whatever it is about."""
_DOES: Final = re.compile(rf"(?i)\b(?:{_VERBS})\b[^.?!\n]{{0,60}}\b(?:{_THINGS})\b")
_ONLY_TALKS: Final = re.compile(
    r"(?i)\b(?:propos\w*|suggest\w*|recommend\w*|describ\w*|explain\w*|outlin\w*|plan\w*|sketch\w*|"
    r"summar\w*|list\b|compar\w*|review\w*|say\b|tell\b|what|which|why|how|whether|would|could|"
    r"without|don't|do not|never|must not|no\s+(?:files?|changes?))\b"
)


class Generated(NamedTuple):
    """A request, and what the judge is to look for."""

    prompt: str
    hints: str


def request_for(case: Case) -> str:
    """What the generator is asked for a case; its id is not told."""
    replied = case.requires_reply and case.expected_status != COMPLETE
    if replied or case.expected_status == AWAITING:
        wish = (
            "- leaves open what exactly is wanted, so that it can be understood in several ways\n"
            "- makes a careful assistant ask before it answers"
        )
    else:
        wish = (
            "- says plainly what is wanted, and in what form and length\n"
            "- has in it everything that is needed to answer without asking back"
        )
    return (
        f"Write a request that tests this: {case.description}\n\nThe request\n{wish}\n"
        "- is safe: an answer takes reading and writing words, and nothing else\n\n"
        f"The assistant is expected to end with the status {case.expected_status}."
    )


def again(why: str) -> str:
    """What is added when an answer could not be used."""
    return f"\n\nYour last answer could not be used: {why}. Answer in the form that was asked for."


def read_generated(text: str) -> Generated | str:
    """The generator's answer, or why it cannot be used."""
    prompt = _PROMPT.search(text)
    hints = None if prompt is None else _HINTS.search(text, prompt.end())
    if prompt is None or hints is None:
        return "it has no PROMPT: with a HINTS: after it"
    said = text[prompt.end() : hints.start()], text[hints.end() :]
    made = Generated(*(part.strip(" \t\n*_\"'") for part in said))
    if not made.prompt or not made.hints:
        return "its PROMPT or its HINTS is empty"
    if max(map(len, made)) > MOST_CHARS:
        return f"its PROMPT or its HINTS has more than {MOST_CHARS} characters"
    if why := unsafe(made.prompt):
        return why
    return made


def unsafe_words(case: Case) -> str:
    """Why a case's own request or one of its replies is no read-only work; empty if all are."""
    if case.unscreened:
        return ""
    return unsafe_among((case.prompt, *(step.reply for step in case.reply_flow)))


def unsafe_among(texts: Iterable[str | None]) -> str:
    """Why one of these requests is no read-only work; empty if all are."""
    for said in filter(None, texts):
        if why := unsafe(said):
            told = why.replace("its PROMPT has", "has").replace("its PROMPT asks", "asks")
            return (
                f"{said[:60]!r} {told}; a self-test is read-only work: say it otherwise, or "
                "`unscreened: true` if the system under test may be sent it"
            )
    return ""


def unsafe(prompt: str) -> str:
    """Why a request is no read-only work; empty if it is, as far as its words tell."""
    if found := _COMMANDS.search(prompt):
        return f"its PROMPT has a command in it ({found[0].strip()!r})"
    for sentence in re.split(r"(?<=[.?!])\s+|\n+", prompt):
        found = _DOES.search(sentence) or _DESTROYS.search(sentence.strip())
        if found and not _ONLY_TALKS.search(sentence):
            return f"its PROMPT asks for more than reading ({found[0].strip()[:80]!r})"
    return ""
