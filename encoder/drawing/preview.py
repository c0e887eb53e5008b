"""What other pages show of a link to a page: its title, a sentence and a picture (The Open Graph protocol, ogp.me)."""

import io
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from PIL import Image, ImageOps

from encoder.drawing.picture import escape
from encoder.drawing.still import Still
from encoder.errors import EncoderError, quoted

#: Pixels of the picture, in the proportion that most programs show whole.
SIZE = (1_200, 630)


@dataclass(frozen=True)
class Preview:
    """Of one page. address: of its folder, with "/" at the end; page, image: their files in the folder."""

    address: str
    page: str
    image: str
    title: str
    said: str

    def inserted(self, page: str) -> str:
        """A page of HTML that says so. Addresses are whole: a program that shows a link accepts no others."""
        values = {
            "og:type": "website",
            "og:title": self.title,
            "og:description": self.said,
            "og:url": urljoin(self.address, self.page),
            "og:image": urljoin(self.address, self.image),
            "og:image:width": SIZE[0],
            "og:image:height": SIZE[1],
            "twitter:card": "summary_large_image",
        }
        tags = "".join(f'<meta property="{name}" content="{escape(value)}">' for name, value in values.items())
        return page.replace("</title>", f"</title>{tags}", 1)


def folder_address(address: str) -> str:
    """The address of a folder, with "/" at its end. Raises EncoderError for one that other programs cannot open."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise EncoderError(
            f"{quoted(address)} is not the address of a folder: specify it as in https://you.example/published/."
        )
    return address if address.endswith("/") else f"{address}/"


def image(still: Still) -> bytes:
    """A PNG file of SIZE, with the still in its middle."""
    drawn = Image.open(io.BytesIO(still.png()))
    file = io.BytesIO()
    ImageOps.pad(drawn, SIZE, color="white").save(file, "PNG")
    return file.getvalue()
