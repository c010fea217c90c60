"""Files published by others: downloaded once, checked, and stored in a folder.

A file is identified by its address in one commit and by its hash, so that everybody
works on the same bytes. If ``SKANCHOR_DATA_MIRROR`` names a folder, files are read from
there, as ``<set>/<name>``, and nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MIRROR = "SKANCHOR_DATA_MIRROR"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file in a public repository on GitHub.

    Attributes
    ----------
    repository, commit, path : str
        Its location: ``"owner/name"``, the full hash of a commit, and a path such as
        ``"data/human.json"``.
    sha256 : str
        Hash of its bytes.
    """

    repository: str
    commit: str
    path: str
    sha256: str

    @property
    def url(self) -> str:
        """Address from which the file is downloaded."""
        return (
            f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/"
            f"{self.path}"
        )


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """The files of a data set.

    Attributes
    ----------
    name : str
        Name of the set, and of its folder.
    files : mapping
        Files by the names under which they are stored.
    """

    name: str
    files: Mapping[str, PublishedFile]

    def paths(
        self,
        data_home: str | os.PathLike[str] | None = None,
        download_if_missing: bool = True,
    ) -> dict[str, Path]:
        """Find the files on this machine, and download those that are missing.

        Parameters
        ----------
        data_home : path, optional
            See :func:`data_folder`.
        download_if_missing : bool, default=True
            Whether to download missing files.

        Returns
        -------
        dict of str to Path
            Paths of the files by name, whose hashes were checked.

        Raises
        ------
        OSError
            If a file is missing and cannot be downloaded, or has another hash.
        """
        mirror = os.environ.get(_MIRROR)
        if mirror:
            return {name: self._mirrored(Path(mirror), name) for name in self.files}
        folder = data_folder(data_home) / self.name
        return {
            name: self._stored(folder, name, download_if_missing) for name in self.files
        }

    def _mirrored(self, mirror: Path, name: str) -> Path:
        """Path of a file in the mirror; its hash is checked."""
        path = mirror / self.name / name
        if not path.is_file():
            raise OSError(
                f"{_MIRROR} is set to {mirror}, where there is no {self.name}/{name}. "
                f"Put there {self.files[name].url}, or unset the variable."
            )
        if not self._holds(path, name):
            raise OSError(
                f"{path} is not the published file: its SHA-256 is not "
                f"{self.files[name].sha256}. Replace it by {self.files[name].url}."
            )
        return path

    def _stored(self, folder: Path, name: str, download_if_missing: bool) -> Path:
        """Path of a file in the user's folder, downloaded if it is missing."""
        path, file = folder / name, self.files[name]
        if path.is_file() and self._holds(path, name):
            return path
        if not download_if_missing:
            raise OSError(
                f"{path} is not there. Fetch it with download_if_missing=True, or put "
                f"there {file.url}."
            )
        import pooch
        from requests import RequestException

        logger = pooch.get_logger()
        level = logger.level
        # pooch logs each address that it fetches; failures are reported below.
        logger.setLevel("WARNING")
        try:
            pooch.retrieve(file.url, f"sha256:{file.sha256}", name, folder)
        # pooch raises ValueError for a wrong hash.
        except (RequestException, ValueError) as error:
            raise OSError(
                f"{self.name}/{name} could not be fetched from {file.url} "
                f"({type(error).__name__}). Without a network, set {_MIRROR} to a "
                f"folder that holds the file as {self.name}/{name}, or put it at "
                f"{path}; its SHA-256 is {file.sha256}."
            ) from error
        finally:
            logger.setLevel(level)
        return path

    def _holds(self, path: Path, name: str) -> bool:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        return found == self.files[name].sha256


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder of downloaded files.

    Parameters
    ----------
    data_home : path, optional
        None means the environment variable ``SKANCHOR_DATA``, or without it
        ``~/skanchor_data``.

    Returns
    -------
    Path
        The folder, which need not exist.
    """
    if data_home is None:
        data_home = os.environ.get("SKANCHOR_DATA") or "~/skanchor_data"
    return Path(data_home).expanduser()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON object per line.

    Parameters
    ----------
    path : Path
        A file of UTF-8 text.

    Returns
    -------
    list of dict
        The objects; empty lines are skipped.
    """
    # Not splitlines, which would also split at U+2028 inside a string.
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]
