"""One turn: the narrator speaks, its output is labelled, the group reacts and one of them relays.

Log order within a turn: what all hear, what single players hear with their replies, what the
others notice of it, reactions in seat order, the relay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matrix.kinds.context import Context
from matrix.kinds.playtest.detect import history
from matrix.kinds.playtest.detect.asides import (
    Aside,
    SplitOutput,
    addressed_alone,
    heard,
    match_name,
    split_tagged,
    tells_others,
)
from matrix.kinds.playtest.detect.challenges import detect_remarks
from matrix.kinds.playtest.detect.classify import (
    SCHEMA,
    Before,
    Classification,
    is_sure,
    label_from_text,
    parse_label,
    settled,
)
from matrix.kinds.playtest.detect.history import NARRATOR, SYSTEM, TABLE, private_channel
from matrix.kinds.playtest.detect.issues import IssueFound, quoted
from matrix.kinds.playtest.detect.memory import remembered, turns_heard
from matrix.kinds.playtest.detect.moments import TOLD, is_read_out, note_reply
from matrix.kinds.playtest.detect.observe import (
    LOOP_LIMIT,
    LOOP_WINDOW,
    Output,
    close_tangent,
    count_issues,
    observe,
    repeats_of_late,
    spoiled_finding,
)
from matrix.kinds.playtest.detect.reading import closes, is_usable, spoken
from matrix.kinds.playtest.detect.relaying import check_relay, count_relay
from matrix.kinds.playtest.detect.window import windowed
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.group import passing_mood
from matrix.kinds.playtest.setup.prompts import (
    aside_note,
    classifier_system,
    classify_request,
    private_request,
    reaction_request,
    relay_request,
    told_note,
)
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.kinds.playtest.setup.vocabulary import PRIVATE
from matrix.kinds.playtest.setup.wording import Words
from matrix.kinds.playtest.table.asking import Child, asking
from matrix.kinds.playtest.table.creation import BLANK_LIMIT
from matrix.kinds.playtest.table.review import (
    confirm_endings,
    confirm_issues,
    leave_unconfirmed,
    review_issues,
)
from matrix.kinds.playtest.table.scoring import record_counts, record_findings, record_passed
from matrix.kinds.playtest.table.table import TurnTable, persona_of, spokesperson_of
from matrix.model.records import ChatMessage, Message

MISATTRIBUTION: Final = "misattribution"
CONCLUDED: Final = "concluded"
LATELY: Final = 3
"""Turns of which the narrator's words count as what the group was told of late."""


async def play_turn(ctx: Context, state: PlaytestState) -> PlaytestState:
    """Play one turn; ends the session when the story is over or the narrator is beyond help."""
    table = TurnTable.of(ctx)
    messages = history.narrator_history(
        table.narrator_system,
        len(state.seats),
        ctx.log,
        story_at=state.story_at,
        words=table.words,
    )
    dropped = None
    if table.options.history_tokens:
        messages, dropped = windowed(messages, table.options.history_tokens)
    state = state.model_copy(update={"dropped": dropped})
    answer = await ctx.ask(
        roles.NARRATOR,
        messages,
        model=roles.model_of(roles.NARRATOR, ctx.plan.roles),
        max_tokens=roles.TOKENS[roles.NARRATOR],
    )
    text = answer.text.strip()
    if not is_usable(text):
        return await _blank(ctx, table, state)
    label = await _classify(ctx, table, state, messages[-1].content, text)
    if answer.is_cut and not closes(text):  # what would have come may be anything
        label = label._replace(concluded=False)
    parts = _route(text, label, state.names)
    output = Output.of(ctx.turn, text, label, parts, cut=answer.is_cut)
    state, findings = observe(state, output, table.world, ctx.log, table.options.stuck_after)
    findings = await confirm_endings(ctx, table, text, findings)
    state, at_once = leave_unconfirmed(state, table, findings, ctx.turn, len(ctx.log))
    record_findings(ctx, at_once)
    state = count_issues(state, at_once)
    _log_output(ctx, output.parts, label)
    if label.concluded or closes(text):
        ctx.end("completed", CONCLUDED)
        return state.model_copy(update={"concluded": True})
    if why := _hard_failure(table, state, findings):
        return await _fail(ctx, table, state, why)
    kinds = [found.kind for found in findings]
    return await _react(ctx, table, state, output.parts, kinds)


async def _blank(ctx: Context, table: TurnTable, state: PlaytestState) -> PlaytestState:
    """An output without usable words: nobody reacts, and the narrator is asked again next turn."""
    finding = IssueFound("breakdown", NARRATOR, "an output without usable words", "error")
    record_findings(ctx, [finding])
    state = count_issues(
        state.model_copy(update={"turns": ctx.turn, "blanks": state.blanks + 1}), [finding]
    )
    if state.blanks >= BLANK_LIMIT and "breakdown" in table.options.end_on:
        return await _fail(ctx, table, state, f"no usable output {BLANK_LIMIT} times in a row")
    return state


def _hard_failure(table: TurnTable, state: PlaytestState, findings: Sequence[IssueFound]) -> str:
    """Why the session cannot go on after an output; empty if it can."""
    ends = table.options.end_on
    repeats = repeats_of_late(state)
    if "loop" in ends and len(repeats) >= LOOP_LIMIT:
        return (
            f"the narrator repeated itself: {len(repeats)} of its last "
            f"{min(state.turns, LOOP_WINDOW)} outputs repeat earlier ones "
            f"(turns {', '.join(map(str, repeats))})"
        )
    if "breakdown" in ends and state.blanks >= BLANK_LIMIT:
        return f"the narrator's text fell apart {BLANK_LIMIT} times in a row"
    if "contradiction" in ends:
        for found in findings:
            if found.kind == "contradiction":
                return f"the narrator contradicted itself about {found.subject}"
    return ""


async def _fail(ctx: Context, table: TurnTable, state: PlaytestState, reason: str) -> PlaytestState:
    """End the session as failed. Nothing runs after this, so its counts are recorded here."""
    ctx.end("failed", reason)
    state, findings = close_tangent(state, ctx.log)
    record_findings(ctx, findings)
    state = await confirm_issues(ctx, table, state)
    state = await review_issues(ctx, table, state, ())
    record_counts(ctx, state, table.expected)
    record_passed(ctx, None, table.options.pass_if)
    return state


async def _classify(
    ctx: Context, table: TurnTable, state: PlaytestState, relay: str, text: str
) -> Classification:
    """What the patterns are sure of, or the classifier's label; if that is unreadable, a guess."""
    read = label_from_text(text, relay, state.names, table.guide)
    lines = history.of_late(ctx.log, len(state.seats), LATELY)
    told = [line.text for line in lines if line.speaker == NARRATOR]
    late = state.pulses >= table.expected - 1
    before = Before(relay, table.guide, told, state.names, late)
    if not state.tangents.since and is_sure(read, text, before):
        await ctx.parallel([])  # keeps the places of later calls where a question had been asked
        return read
    answer = await ctx.ask(
        roles.CLASSIFIER,
        [
            ChatMessage("system", classifier_system(table.words)),
            ChatMessage("user", classify_request(state.names, relay, text, table.words)),
        ],
        model=roles.model_of(roles.CLASSIFIER, ctx.plan.roles),
        max_tokens=roles.TOKENS[roles.CLASSIFIER],
        schema=SCHEMA,
    )
    label = parse_label(answer.text)
    if label is not None:
        return settled(read, label)
    ctx.event("classification_fallback", subject=read.type, detail=answer.text[:200])
    return read


def _route(text: str, label: Classification, names: Sequence[str]) -> SplitOutput:
    """Who hears what: explicit tags first, then the classifier's word; in doubt, everybody."""
    parts = split_tagged(text, names)
    if parts.asides:
        return parts
    target = match_name(label.private_target, names)
    if target is None and label.type == PRIVATE:
        target = addressed_alone(spoken(text), names)
    return SplitOutput(text, ()) if target is None else SplitOutput("", (Aside(target, text),))


def _log_output(ctx: Context, parts: SplitOutput, label: Classification) -> None:
    told, sure = label.type, label.confidence
    if parts.public:
        ctx.log.append(Message(TABLE, NARRATOR, parts.public, ctx.turn, told, sure))
    for aside in parts.asides:
        channel = private_channel(aside.target)
        ctx.log.append(Message(channel, NARRATOR, aside.text, ctx.turn, PRIVATE, sure))


async def _react(
    ctx: Context, table: TurnTable, state: PlaytestState, parts: SplitOutput, found: Sequence[str]
) -> PlaytestState:
    """Whoever was addressed reacts, all at once; then the spokesperson relays.

    ``found`` are kinds of issues that the output itself has.
    """
    known = _memories(ctx, table, state)
    alone = _private_children(ctx, table, state, parts.asides, known)
    said_now = spoken(parts.public)
    together = _group_children(ctx, table, state, said_now, known) if parts.public else []
    replies = await ctx.parallel([*alone, *together])
    state = _log_private(ctx, state, parts, replies[: len(alone)], table.words)
    if not together:
        return state
    said = [
        (seat.name, text)
        for seat, text in zip(state.seats, replies[len(alone) :], strict=True)
        if text
    ]
    for name, text in said:
        ctx.log.append(Message(TABLE, name, text, ctx.turn, history.REACTION))
    absent = [seat.name for seat in state.seats if table.loses_track(seat.archetype)]
    remarks = detect_remarks(said, found, said_now, absent)
    if remarks:
        record_findings(ctx, remarks)
        state = count_issues(state, remarks)
    return await _relay(ctx, table, state, said_now, said)


def _memories(ctx: Context, table: TurnTable, state: PlaytestState) -> dict[str, str]:
    """What each player remembers of all before this output."""
    tokens = table.options.memory_tokens
    if not tokens:
        return dict.fromkeys(state.names, "")
    turns = [one for one in turns_heard(ctx.log, tokens) if one.turn < ctx.turn]
    return {name: remembered(ctx.log, turns, name, tokens, before=ctx.turn) for name in state.names}


def _private_children(
    ctx: Context,
    table: TurnTable,
    state: PlaytestState,
    asides: Sequence[Aside],
    known: Mapping[str, str],
) -> list[Child]:
    seats = {seat.name: seat for seat in state.seats}
    return [
        asking(
            roles.PLAYERS,
            table.model_of(ctx, roles.PLAYERS, seats[aside.target].archetype),
            persona_of(ctx.log, seats[aside.target]),
            private_request(heard(aside.text), aside.target, known[aside.target], table.words),
            agent=aside.target,
            tag=roles.ASIDE,
        )
        for aside in asides
    ]


def _group_children(
    ctx: Context,
    table: TurnTable,
    state: PlaytestState,
    narration: str,
    known: Mapping[str, str],
) -> list[Child]:
    count = table.options.recent_messages
    talk = history.table_talk(ctx.log, count + 1)[:-1] if count else []  # without this output
    recent = history.as_heard(talk)
    children = []
    for number, seat in enumerate(state.seats):
        own = history.private_memory(ctx.log, seat.name) if state.moments.count and count else ""
        lately = "\n".join(part for part in (own, recent) if part)
        children.append(
            asking(
                roles.PLAYERS,
                table.model_of(ctx, roles.PLAYERS, seat.archetype),
                persona_of(ctx.log, seat),
                reaction_request(
                    lately,
                    narration,
                    seat.name,
                    known[seat.name],
                    passing_mood(ctx.rng(f"mood/{number}"), table.options.mood_swings),
                    table.words,
                ),
                agent=seat.name,
            )
        )
    return children


def _log_private(
    ctx: Context, state: PlaytestState, parts: SplitOutput, replies: Sequence[str], words: Words
) -> PlaytestState:
    """Log the replies; the others notice the aside, and hear of it only what they are told."""
    book = state.moments
    for aside, reply in zip(parts.asides, replies, strict=True):
        name, told = aside.target, tells_others(reply)
        text = reply or history.SILENCE
        ctx.log.append(Message(private_channel(name), name, text, ctx.turn, history.REACTION))
        note = aside_note(name, told, words)
        ctx.log.append(Message(TABLE, SYSTEM, note, ctx.turn, history.NOTE))
        value = float(told)
        ctx.event("private_reply", subject=name, detail=quoted(text, 200), value=value)
        if told:
            ctx.log.append(Message(TABLE, name, reply, ctx.turn, history.SHARED))
            shared = told_note(name, heard(aside.text), words)
            ctx.log.append(Message(TABLE, SYSTEM, shared, ctx.turn, TOLD))
        spoiled = not told and is_read_out(aside.text, parts.public)
        if spoiled:
            record_findings(ctx, [spoiled_finding(ctx.turn, name)])
        book = note_reply(book, ctx.turn, name, told=told, spoiled=spoiled)
    return state.model_copy(update={"moments": book})


async def _relay(
    ctx: Context,
    table: TurnTable,
    state: PlaytestState,
    narration: str,
    said: Sequence[tuple[str, str]],
) -> PlaytestState:
    """The spokesperson's message to the narrator; in the players' own words if they have none."""
    text = history.SILENCE
    if said:
        speaker = spokesperson_of(state)
        ask = asking(
            roles.SPOKESPERSON,
            table.model_of(ctx, roles.SPOKESPERSON, speaker.archetype),
            ctx.log[state.relay_prompt].text,
            relay_request(narration, said, table.words),
            agent=speaker.name,
        )
        text = await ask(ctx) or "\n".join(f"{name}: {words}" for name, words in said)
        check = check_relay(text, said, speaker.name, narration)
        for wrong in check.misattributed:
            told = f"words of {wrong.speaker}: {quoted(wrong.statement, 200)}"
            ctx.event(MISATTRIBUTION, subject=wrong.claimed, detail=told)
        state = state.model_copy(update={"relays": count_relay(state.relays, check)})
    ctx.log.append(Message(TABLE, history.SPOKESPERSON, text, ctx.turn, history.RELAY))
    return state
