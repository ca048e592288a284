"""What is made for one location, with settings of its own: sources and sinks."""

from __future__ import annotations

import abc
import os
from typing import Any, ClassVar, Self

import attrs

from .from_file import reduced


@attrs.frozen(kw_only=True)
class NoConfig:
    """The settings of a plugin that has none."""


class Located(abc.ABC):
    """A source or a sink at a location.

    name: what users type before the location.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    api_version: the plugin API it is written for.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig
    api_version: ClassVar[int] = 1

    def __init__(self, location: str, config: Any = None):
        self.location = location
        self.config = config if config is not None else self.Config()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(type(self), super().__reduce_ex__(protocol))

    @classmethod
    def configured(cls, location: str | os.PathLike[str], /, **settings: Any) -> Self:
        """A source or sink for a location, its settings checked and converted as a run does.

        >>> GreetingSource.configured("hello.txt", zone="UTC").config.zone  # doctest: +SKIP

        Raises ConfigError that names a setting which is unknown or does not fit.
        """
        from .settings import structure  # late: many import this module, and few set anything

        return cls(os.fspath(location), structure(cls.Config, settings, plugin=cls.name))
