"""Files published by others: downloaded once, checked by hash, stored in a folder.

If ``SKANCHOR_DATA_MIRROR`` names a folder, files are read from there, as
``<set>/<name>``, and nothing is downloaded.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

MIRROR = "SKANCHOR_DATA_MIRROR"


def published_files(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> dict[str, Path]:
    """Paths of the files of a set, which are checked, and downloaded if missing.

    Parameters
    ----------
    name : str
        Such as ``"arena"``.
    data_home : path, optional
        Folder of downloaded files; None means the environment variable
        ``SKANCHOR_DATA``, or without it ``~/skanchor_data``.
    download_if_missing : bool, default=True
        Whether to download missing files.

    Returns
    -------
    dict of str to Path
        Paths by the names of the files.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or has another hash.
    """
    import pooch
    from requests import RequestException

    mirror = os.environ.get(MIRROR)
    home = mirror or data_home or os.environ.get("SKANCHOR_DATA") or "~/skanchor_data"
    folder = Path(home).expanduser()
    store = pooch.create(folder, base_url="")
    with (files(__package__) / "data" / "registry.txt").open() as registry:
        store.load_registry(registry)
    # pooch logs each address that it fetches; failures are reported below.
    pooch.get_logger().setLevel("WARNING")
    paths = {}
    for file, sha256 in store.registry.items():
        if not file.startswith(f"{name}/"):
            continue
        path = paths[file.removeprefix(f"{name}/")] = folder / file
        if path.is_file() and f"sha256:{pooch.file_hash(str(path))}" == sha256:
            continue
        what = f"{store.urls[file]}, {sha256}"
        if mirror or not download_if_missing:
            raise OSError(
                f"{path} is not there, or not the published file. Put there {what}; or "
                f"unset {MIRROR}, and give download_if_missing=True."
            )
        try:
            store.fetch(file)
        # pooch raises ValueError for a wrong hash.
        except (RequestException, ValueError) as error:
            raise OSError(
                f"{file} could not be fetched ({type(error).__name__}). Without a "
                f"network, set {MIRROR} to a folder that holds the file as {file}: it "
                f"is {what}."
            ) from error
    return paths


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON object per line."""
    # Not splitlines, which would also split at U+2028 inside a string.
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]
