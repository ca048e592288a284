"""The public names, for type checkers; ``__init__.py`` imports each when it is first used."""

from .api.directory_sink import DirectorySink as DirectorySink
from .api.located import NoConfig as NoConfig
from .api.rule import Finding as Finding
from .api.rule import Rule as Rule
from .api.rule import Threshold as Threshold
from .api.sink import PartFile as PartFile
from .api.sink import PartWriter as PartWriter
from .api.sink import Publication as Publication
from .api.sink import Sink as Sink
from .api.sink import SmallRows as SmallRows
from .api.source import Detection as Detection
from .api.source import Partition as Partition
from .api.source import ReadContext as ReadContext
from .api.source import Reject as Reject
from .api.source import Source as Source
from .api.source import file_partition as file_partition
from .api.source import file_partitions as file_partitions
from .api.spec import API_VERSION as API_VERSION
from .api.spec import OLDEST_API_VERSION as OLDEST_API_VERSION
from .api.spec import Command as Command
from .api.spec import EngineSpec as EngineSpec
from .api.spec import ExporterSpec as ExporterSpec
from .api.spec import ReportSpec as ReportSpec
from .api.spec import SinkSpec as SinkSpec
from .api.spec import SourceSpec as SourceSpec
from .api.spec import declare as declare
from .api.spec import hookimpl as hookimpl
from .api.view import DatasetReader as DatasetReader
from .api.view import Setting as Setting
from .api.view import View as View
from .columns import Column as Column
from .dataset import Dataset as Dataset
from .dataset import open as open  # noqa: A004
from .dataset.report import ReportContext as ReportContext
from .errors import ConfigError as ConfigError
from .errors import DatasetChanged as DatasetChanged
from .errors import DatasetError as DatasetError
from .errors import HarvestError as HarvestError
from .errors import PluginError as PluginError
from .errors import SourceError as SourceError
from .errors import UsageError as UsageError
from .model import BatchError as BatchError
from .model import Int32 as Int32
from .model import Record as Record
from .model import RecordType as RecordType
from .model import RecordTypeError as RecordTypeError
from .model import UInt32 as UInt32
from .model import UInt64 as UInt64
from .model import field as field
from .model import record as record
from .model import record_type as record_type
from .model.arrow import conform as conform
from .pipeline.engine import Engine as Engine
from .pipeline.engine import Work as Work
from .pipeline.result import RunResult as RunResult
from .pipeline.session import Session as Session
from .pipeline.session import run as run
from .plugins.registry import add_plugin as add_plugin
from .plugins.registry import plugins_of as plugins_of
from .reading.bundle import Bundle as Bundle
from .reading.bundle import Result as Result
from .reading.rows import Collected as Collected
from .reading.rows import collect as collect
from .reading.rows import collect_partition as collect_partition
from .reading.rows import tables as tables
from .recipes.recipe import Endpoint as Endpoint
from .recipes.recipe import Recipe as Recipe

__version__: str
UNSUPPORTED: str
__all__: list[str]
