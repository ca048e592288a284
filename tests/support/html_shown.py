"""What a browser would find in a piece of HTML."""

from html.parser import HTMLParser


class Shown(HTMLParser):
    """Elements with their attributes, and the texts between them."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each such element."""
        return [given for name, given in self.elements if name == tag]

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def ids(self) -> list[str]:
        return [str(given["id"]) for _, given in self.elements if "id" in given]
