"""How the results of a table ended: what failed, what is not there yet, what only scored low."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from matrix.model.lines import in_line
from matrix.store.foreign.results import (
    LONGEST_NAME,
    shown,
)
from matrix.store.foreign.tabular.columns import Columns
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.names import (
    MAY_BE_SCORE,
    plain,
    spoken,
)
from matrix.store.foreign.tabular.numbers import number_of, says_failed, score_of
from matrix.store.foreign.tabular.statuses import Meaning, Statuses
from matrix.store.foreign.tabular.table import YES_OR_NO, ForeignTable, cell_text


class Ends:
    """How the results of a table ended, as its status and its columns of yes and no say.

    ``failed`` of one that has a score may be just that score, which is looked for in the whole
    table: a status says the score where all it says it of are below all others, or all are. A
    column of yes and no does so of a score of two values only: of other scores it says more.
    """

    def __init__(self, table: ForeignTable, roles: Columns, failed: Collection[str]) -> None:
        self._score, self._status = roles.score, roles.status
        self._failed = frozenset(map(spoken, failed))
        self._in_scores = Counter[str]()
        headers = table.headers
        self._words = None
        if roles.status >= 0:
            self._words = Statuses(in_line(headers[roles.status][:LONGEST_NAME]), failed)
        self._flags = [(at, in_line(headers[at][:LONGEST_NAME])) for at in roles.flags]
        self._none = Counter[str]()
        scores = [(self._scored(cells), cells) for _, cells in table.rows]
        self._status_scores = _tells_apart([(n, self._of_status(one)) for n, one in scores])
        values = {n for n, _ in scores if n is not None}
        told = [(n, self._of_flags(one)) for n, one in scores]
        alike = (
            len(values) == YES_OR_NO
            and len({one for n, (one, _) in told if n is not None}) == YES_OR_NO
        )
        self._flags_score = alike and _tells_apart(told)
        for _, cells in table.rows:
            if self._words is not None:
                self._words.counts[cell_text(cells[self._status])] += 1
            if says_failed(cells[self._score], self._failed):
                self._in_scores[cell_text(cells[self._score])] += 1

    def score_of(self, cells: Sequence[Cell]) -> float | str | None:
        """A result's score, ``None`` where it has none, or in words why it is neither."""
        return score_of(cells[self._score], self._failed)

    def _scored(self, cells: Sequence[Cell]) -> float | None:
        found = self.score_of(cells)
        return found if isinstance(found, float) else None

    def _of_status(self, cells: Sequence[Cell]) -> tuple[Meaning, str]:
        text = cell_text(cells[self._status]) if self._words is not None else ""
        return ("fine" if self._words is None else self._words.of(text)), text

    def _of_flags(self, cells: Sequence[Cell]) -> tuple[Meaning, str]:
        said = [name for at, name in self._flags if number_of(cells[at], words=True) == 1.0]
        sure = [name for name in said if plain(name) not in MAY_BE_SCORE]
        if sure:
            return "broke", sure[0]
        return ("fell short", said[0]) if said else ("fine", "")

    def there(self, cells: Sequence[Cell]) -> bool:
        """Whether there is a result; one that has a score is there, whatever its status says."""
        meaning, text = self._of_status(cells)
        if meaning != "no result" or self._scored(cells) is not None:
            return True
        self._none[text] += 1
        return False

    def wrong(self, cells: Sequence[Cell]) -> str:
        """What went wrong with a result; empty for nothing."""
        if says_failed(cells[self._score], self._failed):
            return cell_text(cells[self._score])
        scored = self._scored(cells) is not None
        for (meaning, text), is_score in (
            (self._of_flags(cells), self._flags_score),
            (self._of_status(cells), self._status_scores),
        ):
            if meaning == "broke" or (meaning == "fell short" and not (scored and is_score)):
                return text
        meaning, text = self._of_status(cells)
        denied = any(number_of(cells[at], words=True) == 0.0 for at, _ in self._flags)
        if self._words is not None and meaning == "unknown" and not (scored or denied):
            self._words.unsure[text] += 1
        return ""

    @property
    def unsure(self) -> bool:
        """Whether a result has no score, and a status that is not known: it may have failed."""
        return self._words is not None and bool(self._words.unsure)

    @property
    def words(self) -> Collection[str]:
        """All words of its status, and those of failures in place of scores."""
        return (self._words.counts if self._words is not None else Counter[str]()) | self._in_scores

    @property
    def tells(self) -> bool:
        """Whether something here says of results that they failed, or that they did not."""
        by_status = self._words is not None and self._words.tells and not self._status_scores
        by_flags = bool(self._flags) and not self._flags_score
        return by_status or by_flags or bool(self._in_scores)

    @property
    def notes(self) -> list[str]:
        """What there is to know of it, in sentences."""
        told = [] if self._words is None else self._words.notes()
        for text, count in self._in_scores.items():
            rows = f"{count:,} {'score is' if count == 1 else 'scores are'} {shown(text)}"
            told.append(f"{rows}: a failure without a score each, as you say.")
        if self._none:
            total = sum(self._none.values())
            words = ", ".join(f"{shown(text)} ({count:,})" for text, count in self._none.items())
            told.append(
                f"{total:,} {'row is' if total == 1 else 'rows are'} no result yet, and left out: "
                f"{words}."
            )
        return told


def _tells_apart(ends: Sequence[tuple[float | None, tuple[Meaning, str]]]) -> bool:
    """Whether ``failed`` is said of every score below another, or of all, and of no other.

    Of scores of two values it is said of all of the one, and of none of the other.
    """
    kept = [(score, one) for score, (one, _) in ends if score is not None and one != "broke"]
    wrong = [score for score, one in kept if one == "fell short"]
    right = [score for score, one in kept if one != "fell short"]
    if not wrong or not right:
        return bool(wrong)
    if len({*wrong, *right}) == YES_OR_NO:
        return max(wrong) < min(right) or max(right) < min(wrong)
    return max(wrong) <= min(right) or max(right) <= min(wrong)
