"""The exporter planted-json, and what every exporter promises."""

import json
from typing import ClassVar

from check_views import harvested

from harvest_testing import ExporterConformance


class TestExporter(ExporterConformance):
    exporter = "planted-json"
    target = "rows.json"
    examples: ClassVar = {"types": "planted.job"}
    dataset = harvested

    def rows_of(self, target, record_type):
        return len(json.loads(target.read_text()).get(record_type, ()))
