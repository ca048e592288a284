"""What this plugin offers."""

from collections.abc import Iterable

from harvest import ExporterSpec, Setting, hookimpl

harvest_api = 1


@hookimpl
def harvest_exporters() -> Iterable[ExporterSpec]:
    """The exporter csv-folder."""
    return [
        ExporterSpec(
            name="csv-folder",
            doc="A folder with a CSV file for each record type, and a data dictionary.",
            write="harvest_csv_folder.folder:write",
            settings={"types": Setting("the record types to write", type=tuple[str, ...])},
        )
    ]
