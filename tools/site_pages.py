"""Pages of the documentation site that are no files of ``docs/``; a hook of mkdocs.

The README is the home page. The data dictionary, the page about packs and the changelog stay where
they are read in the repository; the command line's and Python's pages are made from the program's
own help and docstrings. Links between pages are written for the repository, and led to the pages
of the site here; a link to a file that is no page becomes its text.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

PAGES = {
    "README.md": "index.md",
    "results/README.md": "data-dictionary.md",
    "scenarios/playtest/README.md": "packs.md",
    "CHANGELOG.md": "changelog.md",
}
"""File of the repository -> page of the site; files of ``docs/`` keep their names."""

_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")
_SECTION = re.compile(r"^(Args|Arguments|Attributes|Raises|Returns|Yields):$")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs/``."""
    texts = {page: (ROOT / path).read_text(encoding="utf-8") for path, page in PAGES.items()}
    texts |= {"commands.md": commands_page(), "python.md": python_page()}
    for name, text in texts.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the pages of the site."""
    sources = {name: path for path, name in PAGES.items()}
    here = page.file.src_uri
    folder = posixpath.dirname(sources.get(here, f"docs/{here}"))

    def led(link: re.Match[str]) -> str:
        text, target = link.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return link[0]
        full = posixpath.normpath(posixpath.join(folder, path))
        name = PAGES.get(full, full.removeprefix("docs/"))
        if files.get_file_from_path(name) is not None:
            return f"[{text}]({name}{mark}{anchor})"
        return text if (ROOT / full).exists() else link[0]  # mkdocs refuses what is nowhere

    return _LINK.sub(led, markdown)


def commands_page() -> str:
    """The help of every command."""
    import typer

    from matrix.cli.main import program

    group: Any = typer.main.get_command(program())
    parts = ["# Command line\n", _help_of(group, "matrix", None)]
    context = group.make_context("matrix", [], resilient_parsing=True)
    for name, command in group.commands.items():
        parts += [f"## matrix {name}\n", _help_of(command, name, context)]
    return "\n".join(parts)


def _help_of(command: Any, name: str, parent: Any) -> str:
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=96)
    return f"```\n{command.get_help(context)}\n```\n"


def python_page() -> str:
    """What ``import matrix`` gives, from its docstrings."""
    import matrix

    parts = ["# Python\n", _in_markdown(matrix.__doc__ or "")]
    for name in matrix.__all__:
        thing = getattr(matrix, name)
        if inspect.isclass(thing):
            parts += [f"## matrix.{name}\n", _in_markdown(inspect.getdoc(thing) or "")]
            parts += _methods(thing)
        elif inspect.isfunction(thing):
            parts += _function(f"matrix.{name}", thing, "##")
        elif inspect.ismodule(thing):
            parts += [f"## {thing.__name__}\n", _in_markdown(inspect.getdoc(thing) or "")]
    return "\n".join(parts)


def _methods(owner: type) -> list[str]:
    parts: list[str] = []
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            text = _in_markdown(inspect.getdoc(member) or "")
            parts += [f"### {owner.__name__}.{name}\n", text]
        elif inspect.isfunction(member):
            parts += _function(f"{owner.__name__}.{name}", member, "###")
    return parts


def _function(name: str, function: Any, level: str) -> list[str]:
    given = inspect.signature(function).parameters.values()
    lines = [f"    {_parameter(each)}," for each in given if each.name != "self"]
    marks = [index for index, each in enumerate(given) if each.kind is each.KEYWORD_ONLY]
    if marks and not any(each.kind is each.VAR_POSITIONAL for each in given):
        lines.insert(marks[0] - sum(each.name == "self" for each in given), "    *,")
    returns = inspect.signature(function).return_annotation
    call = "\n".join([f"{name}(", *lines, f") -> {returns}"]) if lines else f"{name}() -> {returns}"
    return [
        f"{level} {name}\n",
        f"```python\n{call}\n```\n",
        _in_markdown(inspect.getdoc(function) or ""),
    ]


def _parameter(given: inspect.Parameter) -> str:
    stars = "**" if given.kind is given.VAR_KEYWORD else "*" * (given.kind is given.VAR_POSITIONAL)
    default = "" if given.default is given.empty else f" = {given.default!r}"
    return f"{stars}{given.name}: {given.annotation}{default}"


def _in_markdown(docstring: str) -> str:
    """A Google-style docstring as markdown: sections become lists."""
    text = re.sub(r":\w+:`~?([^`]+)`", lambda found: f"`{found[1]}`", docstring)
    text = text.replace("``", "`")
    lines: list[str] = []
    section = ""
    for line in text.splitlines():
        if found := _SECTION.match(line):
            section = found[1]
            lines += [f"**{section}**", ""]
        elif section and line.startswith("    "):
            lines.append(_entry(line[4:], section))
        else:
            section = section if not line.strip() else ""
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def _entry(line: str, section: str) -> str:
    """An item of a section, or more of one."""
    named = re.match(r"([\w, *`]+): (.*)", line)
    if line.startswith(" "):
        return f"  {line.strip()}"
    if section == "Returns" or named is None:
        return line
    return f"- `{named[1]}`: {named[2]}"
