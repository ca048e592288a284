"""The view planted.with_job, and what every view promises."""

from typing import ClassVar

from check_views import harvested

from harvest_testing import ViewConformance


class TestWithJob(ViewConformance):
    view = "planted.with_job"
    key = ("origin", "position")
    examples: ClassVar = {"longest_s": "0.1"}
    null_says: ClassVar = {"planted.transfer.job": "it was made outside of any job"}
    dataset = harvested
