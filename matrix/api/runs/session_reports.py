"""Reports of single sessions: as text, and as files of a run's folder.

A run of few sessions is read session by session, so each has its report as soon as it is over; in
a large one they are written when somebody asks for them.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from matrix.api.opened import RESULTS, Run, open_run
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.prepare.registry import ask_kind, kind_if_usable
from matrix.engine.run.progress import Listener
from matrix.kinds.protocol import Kind
from matrix.kinds.reporting import OwnsSections, SessionSoFar, file_name
from matrix.model.errors import MatrixError, StoreError
from matrix.model.records import JSON
from matrix.report.session.checkpoints import RunContent, session_so_far, turns_of
from matrix.report.session.session_report import session_as_markdown, transcript_as_markdown
from matrix.store.blobs.blobs import BlobStore
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.journal.transcript import Transcript, prelude_result
from matrix.store.run.own_files import FOLDER_MODE
from matrix.store.run.run_folder import write_whole

FOLDER: Final = "reports"
"""Where in a run's folder they are."""

WRITTEN_UP_TO: Final = 20
"""Sessions of a run whose reports are written unasked."""


class AsMarkdown(Protocol):
    """A form of a session in Markdown, as in :mod:`matrix.report.session.session_report`."""

    def __call__(
        self, session: Transcript, so_far: SessionSoFar, kind: Kind | None, *, simulated: str
    ) -> str:
        """The text."""
        ...


class FoundSession(NamedTuple):
    """A session with all that its files are made of.

    Attributes:
        content: What it refers to.
        simulated: What to say of simulated models in it; empty if there are none.
        session: The session.
        prelude: What its round's shared preparation made.
        kind: Its kind; ``None`` where it is not installed.
    """

    content: RunContent
    simulated: str
    session: Transcript
    prelude: JSON
    kind: Kind | None

    def told(self, as_markdown: AsMarkdown) -> str:
        """The session in Markdown of some form.

        Raises:
            StoreError: It has no checkpoint yet.
            BadInput: A defect of its kind.
        """
        if not turns_of(self.session):
            told = "has no checkpoint yet; its report is made when its first turn is over"
            raise StoreError(f"session {self.session.session_id} {told}")
        so_far = session_so_far(self.content, self.session, self.prelude)

        def made() -> str:
            return as_markdown(self.session, so_far, self.kind, simulated=self.simulated)

        return made() if self.kind is None else ask_kind(self.kind, "tell of a session", made)


def find_session(run: Run, session: str) -> FoundSession:
    """A session of a run: by its id, the beginning of one, ``best``, ``worst`` ...

    Raises:
        SessionNotFound: No such session.
        StoreError: It cannot be read.
    """
    transcript = run.session(session)
    with closing(JournalReader(run.path / JOURNAL_NAME)) as reader:
        prelude = prelude_result(reader, transcript.plan)
        resources = reader.resources()
    file = run.file
    content = RunContent(run.id, dict(file.spec), resources, BlobStore(run.path))
    simulated = file.simulation_of(transcript.plan.roles)
    kind = kind_if_usable(file.kind, file.kind_facts)
    return FoundSession(content, simulated, transcript, prelude, kind)


def session_report(run: str | Path | Run, session: str, results: str | Path = RESULTS) -> str:
    """A session's report.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        StoreError: It has no checkpoint yet, or cannot be read.
    """
    return _found(run, session, results).told(session_as_markdown)


def session_transcript(run: str | Path | Run, session: str, results: str | Path = RESULTS) -> str:
    """All that was said in a session, as Markdown to paste.

    Raises:
        RunNotFound, SessionNotFound: No such run or session.
        StoreError: It has no checkpoint yet, or cannot be read.
    """
    return _found(run, session, results).told(transcript_as_markdown)


def _found(run: str | Path | Run, session: str, results: str | Path) -> FoundSession:
    return find_session(run if isinstance(run, Run) else open_run(run, results=results), session)


def write_session_report(run: Run, session: str) -> Path:
    """Write a session's report into the run's folder, in place of an earlier one; where it is.

    Raises:
        SessionNotFound: No such session.
        StoreError: It has no checkpoint yet, or its report cannot be written.
    """
    return _written(run, find_session(run, session))


def _written(run: Run, found: FoundSession) -> Path:
    folder, name = run.path / FOLDER, f"{file_name(found.session.session_id)}.md"
    text = found.told(session_as_markdown)
    try:
        folder.mkdir(FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}") from None
    write_whole(folder, name, text)
    return folder / name


def written_reports(run: Run) -> list[Path]:
    """Reports of sessions that are in a run's folder."""
    return sorted((run.path / FOLDER).glob("*.md"))


class ReportsAtEnds:
    """Writes the report of each session that ends, in runs of few sessions.

    A run does not fail for them: what goes wrong is told, once.
    """

    def __init__(self, prepared: Prepared, run_dir: Path, listener: Listener) -> None:
        few = prepared.plan.sessions <= WRITTEN_UP_TO
        self._run = Run(run_dir) if few and isinstance(prepared.kind, OwnsSections) else None
        self._listener = listener

    def __call__(self, session_id: str) -> None:
        """A session is over."""
        if self._run is None:
            return
        try:
            found = find_session(self._run, session_id)
            if turns_of(found.session):
                _written(self._run, found)
        except MatrixError as error:
            self._run = None
            self._listener.note(f"no more reports of sessions are written: {error}")
