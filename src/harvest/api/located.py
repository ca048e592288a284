"""Base of sources and sinks: objects with one location and their own settings."""

import abc
import os
from typing import Any, ClassVar, Self

import attrs

from .from_file import reduced


@attrs.frozen(kw_only=True)
class NoConfig:
    """The settings of a plugin without settings."""


class Located(abc.ABC):
    """A source or sink at a location.

    name: what users type before the location.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    api_version: version of the plugin API for which it is written.
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
        """Build a source or sink for a location; check and convert settings as a run does.

        >>> GreetingSource.configured("hello.txt", zone="UTC").config.zone  # doctest: +SKIP

        Raises ConfigError with the name of an unknown or unsuitable setting.
        """
        from .settings import structure  # late: many modules import this one, few use settings

        return cls(os.fspath(location), structure(cls.Config, settings, plugin=cls.name))
