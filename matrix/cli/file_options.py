"""Options that kinds bring to the commands which take a run spec, and to ``matrix replay``.

They are looked up only when the command line has an option that the command itself does not know,
or asks for help with a spec: help alone stays instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from matrix.cli.options import Careful

if TYPE_CHECKING:
    from matrix.kinds.protocol import FileOption

GIVEN: Final = "matrix.file_options"
"""Where in a context's ``meta`` what was given of them is kept: flag -> value."""

_HELP: Final = ("-h", "--help")
_FOUND: Final = "matrix.found_file_options"


class SpecCommand(Careful):
    """A command with a run spec, and with the options of kinds that have a form of their own."""

    @staticmethod
    def of_kinds() -> Mapping[str, Sequence[tuple[str, FileOption]]]:
        """Flag -> (kind, option) of what kinds bring to this command."""
        from matrix.engine.prepare.registry import file_options

        return file_options()

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own options, and those of kinds if they were looked up."""
        return [*super().get_params(ctx), *ctx.meta.get(_FOUND, {}).values()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; what kinds are given goes into ``ctx.meta``."""
        if _asks_for_more(args, [flag for one in self.params for flag in one.opts]):
            ctx.meta[_FOUND] = _as_options(self.of_kinds())
        rest: list[str] = super().parse_args(ctx, args)
        read = {flag: ctx.params.pop(one.name) for flag, one in ctx.meta.get(_FOUND, {}).items()}
        ctx.meta[GIVEN] = {
            flag: value for flag, value in read.items() if value not in (None, False)
        }
        return rest


class ReplayCommand(SpecCommand):
    """The same for sessions that are played on from: what kinds let be changed by options."""

    @staticmethod
    def of_kinds() -> Mapping[str, Sequence[tuple[str, FileOption]]]:
        """Flag -> (kind, option) of what kinds bring to this command."""
        from matrix.engine.prepare.registry import change_options

        return change_options()


def given_to(ctx: Any) -> Mapping[str, str | bool]:
    """What a command was given of the options of kinds: flag -> value."""
    given: Mapping[str, str | bool] = ctx.meta.get(GIVEN, {})
    return given


def _asks_for_more(args: Sequence[str], known: Sequence[str]) -> bool:
    flags = [one.partition("=")[0] for one in args if one.startswith("--") and one != "--"]
    helps = any(one in _HELP for one in args)
    return any(flag not in (*known, *_HELP) for flag in flags) or (helps and len(args) > 1)


def _as_options(found: Mapping[str, Sequence[tuple[str, FileOption]]]) -> dict[str, Any]:
    """Flag -> option as a command has it.

    Made as those of any command, from the parameters of a function.
    """
    import inspect

    import typer
    from typer.main import get_command

    def of_kinds(**given: str | bool | None) -> None:
        """Never called."""

    parameters = [
        inspect.Parameter(
            f"of_kind_{number}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None if options[0][1].value else False,
            annotation=Annotated[
                str | None if options[0][1].value else bool,
                typer.Option(
                    flag,
                    metavar=options[0][1].value or None,
                    help="; ".join(f"{kind}: {option.help}" for kind, option in options),
                    show_default=False,
                ),
            ],
        )
        for number, (flag, options) in enumerate(found.items())
    ]
    of_kinds.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    of_kinds.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(of_kinds)
    made = {one.name: one for one in get_command(app).params}
    return {flag: made[one.name] for flag, one in zip(found, parameters, strict=True)}
