"""Declares options that several commands share once, as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

Command = Callable[..., Any]


def with_option_group(
    group: type[Any],
    *,
    into: str = "options",
    without: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Command], Command]:
    """Give a command the options of a dataclass, in front of its own. The command gets them as one
    value, in its parameter `into`.

    Options that the command does not have (`without`) keep the value of the dataclass; `defaults`
    are those of this command alone.
    """
    shared = [each for each in _options(group, defaults or {}) if each.name not in without]
    names = [parameter.name for parameter in shared]

    def wrap(command: Command) -> Command:
        def run(**typed: Any) -> Any:
            options = group(**{name: typed.pop(name) for name in names})
            return command(**{into: options}, **typed)

        every = [*shared, *_own(command, into)]
        run.__signature__ = inspect.Signature(every)  # pyright: ignore[reportFunctionMemberAccess]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return wrap


def _options(group: type[Any], defaults: Mapping[str, Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(each.name, _default(each)),
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def _default(option: Field[Any]) -> Any:
    return inspect.Parameter.empty if option.default is MISSING else option.default


def _own(command: Command, into: str) -> list[inspect.Parameter]:
    hints = get_type_hints(command, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != into
    ]
