"""A source of ten lines, as the text of its module."""

TEN_LINES = '''\
import harvest

@harvest.record("greeting.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line of a greeting file."""
    text: str = harvest.field(role="subject", doc="The line, without its end.")

class GreetingSource(harvest.Source):
    """Greeting files, line by line."""
    name, record_types = "greeting", (Line,)
    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            yield Line(text=line)
'''
