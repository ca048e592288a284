"""Plugin with the exporter for research objects."""

from harvest import ExporterSpec, Setting, declare

harvest_exporters = declare(
    ExporterSpec(
        name="ro-crate",
        doc="a research object (RO-Crate 1.1): files, schemas, runs, software, people, licence",
        write="harvest_exports.crate:export",
        settings={
            "license": Setting(
                "licence: an SPDX identifier, such as CC-BY-4.0, or a URL", type=str
            ),
            "title": Setting("title of the dataset", type=str),
            "description": Setting("description of the dataset", type=str),
            "authors": "names, separated by semicolons, each with an ORCID iD after a comma if "
            "there is one; the first ran the harvest",
            "publisher": Setting("organisation that publishes it", type=str),
        },
    )
)
