"""A session's report: what strangers said in it is text, and its money adds up to the session's."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.reporting import SessionSoFar
from matrix.model.entries import Settled, Tally, TurnDone
from matrix.model.records import Answer, CallKey, Event, Message, Phase, Player, SessionPlan, Usage
from matrix.report.session.session_report import session_as_markdown, transcript_as_markdown
from matrix.store.journal.transcript import Transcript
from tests.kinds.playtest.script import plan
from tests.report.test_report_file import marks, texts, tokens_of

PIECES = [
    "<img src=x>", "\\", "<", "![a](b)", "[a](b)", "[a][b]", "[a]: http://b", "\n", "\n\n", "# h",
    "|", "---", "> ", "```", "`", "**", "a", " ", "!", "[", "]", "(", ":", "1. ", "- ", "===",
]  # fmt: skip
"""What is put together to texts that would be more than text."""

STEPS: Final[tuple[tuple[Phase, int], ...]] = (("start", 0), ("turn", 1))

hostile = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)


def made_of(text: str) -> tuple[Transcript, SessionSoFar]:
    """A session in which everybody and everything says this."""
    own: SessionPlan = plan()
    state = b'{"seats": [], "spokesperson": 0, "relay_prompt": 0, "story_at": 0}'
    turns = [
        TurnDone(
            session_id="s",
            phase=phase,
            turn=turn,
            state=state,
            messages=(
                Message("table", text, text, turn, "introduction"),
                Message("table", "narrator", text, turn, "pulse"),
                Message(f"private/{text}", "narrator", text, turn, "private-moment"),
                Message("table", "spokesperson", text, turn, "relay"),
            ),
            events=(
                Event("pulse", turn, text, text, 1.0),
                Event("loop", turn, text, text, severity="error"),
                Event(text, turn, text, text),
            ),
            scores=(),
            players=(Player(text, text, text, True, text),) if turn == 0 else (),
            tally=Tally(),
            ended=None,
            versions=(1, 1),
            at=0.0,
        )
        for phase, turn in STEPS
    ]
    session = Transcript(own, 0.0, tuple(turns), (), (), None)
    so_far = SessionSoFar(
        run_id="it",
        plan=own,
        turn=1,
        players=session.players,
        messages=session.messages,
        events=session.events,
        state={"seats": [], "spokesperson": 0, "relay_prompt": 0, "story_at": 0},
        texts={},
        prelude=None,
        times={},
    )
    return session, so_far


@given(hostile)
def test_what_is_said_in_a_session_is_text_in_its_report(text: str) -> None:
    session, so_far = made_of(text)
    plain, so_far_plain = made_of("plain")
    for kind in (KIND, None):
        for made in (session_as_markdown, transcript_as_markdown):
            tokens = tokens_of(made(session, so_far, kind, simulated=""))
            assert not {"html_inline", "image", "link_open"} & marks(tokens)
            assert "html_block" not in {token.type for token in tokens}
            expected = tokens_of(made(plain, so_far_plain, kind, simulated=""))
            assert outline(tokens) == outline(expected)


def outline(tokens: list[Token]) -> list[str]:
    """Which headings and rules stand outside of quotations, by what is ours of them."""
    found = []
    for token, inside in pairwise(tokens):
        if token.level == 0 and token.type in ("heading_open", "hr"):
            found.append(f"{token.markup} {inside.content.split(':')[0]}")
    return found


def settled(role: str, agent: str, cost: int, *, last: bool = True, before: int = 0) -> Settled:
    """An attempt; the last one of a call has the answer, with what came ``before`` in its cost."""
    usage = Usage(10, 3)
    return Settled(
        hold_id=1,
        key=CallKey("s", "turn", 1, "1"),
        attempt=1,
        role=role,
        model=f"sim/{agent or role}",
        digest="",
        held=cost,
        disposition="settled",
        cost=cost,
        usage=usage,
        waited_s=0.0,
        took_s=0.0,
        error_class="" if last else "RateLimited",
        answer=Answer("a", usage, cost + before, 1.0, "m") if last else None,
        at=0.0,
        agent=agent,
    )


def test_tokens_and_money_are_told_by_agent_and_add_up() -> None:
    session, so_far = made_of("plain")
    calls = (
        settled("narrator", "", 4_000_000_000),
        settled("players", "Ada", 1_000_000_000, last=False),
        settled("players", "Ada", 1_000_000_000, before=1_000_000_000),
        settled("players", "Bo", 3_000_000_000),
    )
    text = session_as_markdown(replace(session, calls=calls), so_far, KIND, simulated="")
    cells = texts(tokens_of(text.partition("## Tokens and Money")[2]), "td")
    assert [cells[at : at + 7] for at in range(0, len(cells), 7)] == [
        ["narrator", "", "sim/narrator", "1", "10", "3", "$4.00"],
        ["players", "Ada", "sim/Ada", "1", "10", "3", "$2.00"],
        ["players", "Bo", "sim/Bo", "1", "10", "3", "$3.00"],
        ["players", "all", "", "2", "20", "6", "$5.00"],
        ["all", "", "", "3", "30", "9", "$9.00"],
    ]


def test_the_transcript_to_paste_has_every_word_and_no_comment() -> None:
    session, so_far = made_of("plain")
    text = transcript_as_markdown(session, so_far, KIND, simulated="")
    whole = session_as_markdown(session, so_far, KIND, simulated="")
    said, reviewed = (one.partition("## Full Transcript")[2] for one in (text, whole))
    kept = [line for line in reviewed.split("\n\n") if not line.startswith("\u26a0\ufe0f *loop: ")]
    assert said == "\n\n".join(kept)
    assert said != reviewed, "whoever reviews a session has its issues where they are"
    assert "## Timeline" not in text
    assert "## Group" in text


def test_a_continued_session_says_what_it_goes_on_from() -> None:
    session, so_far = made_of("plain")
    own = replace(
        session.plan,
        parent_session_id="p",
        parent_turn=22,
        parent_run="main",
        changed="prompt=b",
        repeat=1,
    )
    continued = replace(session, plan=own)
    line = "- From: session p of run main after turn 22, with prompt=b; repeat 1"
    assert line in session_as_markdown(continued, so_far, KIND, simulated="").splitlines()
    assert "- From: " not in session_as_markdown(session, so_far, KIND, simulated="")
