"""Declares options that several commands share once, as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

Command = Callable[..., Any]


def with_option_group(group: type[Any]) -> Callable[[Command], Command]:
    """Give a command every option of a dataclass, in front of its own. The command gets them as
    one value, in its parameter `options`."""
    shared = _options(group)
    names = [parameter.name for parameter in shared]

    def wrap(command: Command) -> Command:
        def run(**typed: Any) -> Any:
            options = group(**{name: typed.pop(name) for name in names})
            return command(options=options, **typed)

        every = [*shared, *_own(command)]
        run.__signature__ = inspect.Signature(every)  # pyright: ignore[reportFunctionMemberAccess]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return wrap


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def _own(command: Command) -> list[inspect.Parameter]:
    hints = get_type_hints(command, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "options"
    ]
