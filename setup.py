"""The description that a registry shows: README.md with absolute links.

README.md links to files of the repository by relative paths, which lead nowhere on the
page of a registry. All else about the package is in ``pyproject.toml``.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent


def absolute(text: str, repository: str, version: str) -> str:
    """Text of README.md whose relative links lead to the files of a version."""
    tag = "main" if "dev" in version else f"v{version}"

    def link(found: re.Match[str]) -> str:
        opening, target = found[1], found[2]
        if re.match(r"[a-z]+:", target):
            return found[0]
        kind = "raw" if opening.startswith("!") else "blob"
        path = f"README.md{target}" if target.startswith("#") else target
        return f"{opening}({repository}/{kind}/{tag}/{path})"

    # Text of a link has images and other brackets at one level at most.
    return re.sub(r"(!?\[(?:[^][]|\[[^]]*\])*\])\(([^)\s]+)\)", link, text)


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    setup(
        long_description=absolute(
            (ROOT / "README.md").read_text("utf-8"),
            project["urls"]["Repository"],
            project["version"],
        ),
        long_description_content_type="text/markdown",
    )
