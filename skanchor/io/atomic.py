"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : str or path
        The file; one that exists is replaced when the new one is complete, and stays as
        it was if writing fails. A link keeps pointing to its file.
    content : str or bytes
        What to write; text is written as UTF-8.

    Raises
    ------
    OSError
        If the directory is missing or not writable, or the disk is full.
    """
    data = content.encode() if isinstance(content, str) else content
    mode = None
    if os.path.exists(path):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            # A device or a pipe must not be replaced by a file. Its name may be a link
            # to what has none, such as /dev/stdout.
            with open(path, "wb") as file:
                file.write(data)
            return
    target = os.path.realpath(path)
    draft = os.path.join(os.path.dirname(target), f".skanchor-{secrets.token_hex(8)}")
    try:
        # Unlike a file of tempfile, this one gets the permissions of any new file.
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        os.replace(draft, target)
    except BaseException as error:
        if os.path.exists(draft):
            os.unlink(draft)
        if isinstance(error, OSError):
            # The reader asked for `path` and has never heard of the draft.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
