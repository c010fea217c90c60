"""Writing a file so that it is either complete or unchanged."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def check_writable(path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Raise if `write_atomically` could not write a file; do not change the file.

    Parameters
    ----------
    path : str or path
        The file.
    overwrite : bool, default=True
        Whether an existing file may be replaced.

    Raises
    ------
    OSError
        If the path is a directory, if the file exists and may not be replaced, or if no
        file can be created in its directory.
    """
    mode = _mode(path)
    if mode is not None:
        refusals = {
            errno.EISDIR: stat.S_ISDIR(mode),
            errno.EACCES: not os.access(path, os.W_OK),
            errno.EEXIST: stat.S_ISREG(mode) and not overwrite,
        }
        for number, holds in refusals.items():
            if holds:
                raise OSError(number, os.strerror(number), str(path))
        if not stat.S_ISREG(mode):
            return
    with _draft(path) as draft:
        open(draft, "xb").close()


def write_atomically(
    path: str | os.PathLike[str],
    content: str | bytes,
    *,
    overwrite: bool = True,
    check: Callable[[], None] | None = None,
) -> None:
    """Write a file completely, or leave it as it was.

    Parameters
    ----------
    path : str or path
        The file. An existing one is replaced when the new one is complete, and does not
        change if writing fails. A link keeps pointing to its file.
    content : str or bytes
        Content of the file; text is written as UTF-8.
    overwrite : bool, default=True
        Whether a file that exists, or is created in the meantime, may be replaced.
    check : callable, optional
        Called once the new file is complete; what it raises leaves the old one.

    Raises
    ------
    OSError
        If the directory is missing or not writable, the disk is full, or the file
        exists and may not be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skanchor.io import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "note.txt")
    ...     write_atomically(path, "all of it")
    ...     print(path.read_text())
    ...
    all of it
    """
    data = content.encode() if isinstance(content, str) else content
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        # A device or a pipe must not be replaced by a file, but be written to.
        with open(path, "wb") as file:
            file.write(data)
        return
    with _draft(path) as draft:
        # A new file gets the usual permissions. A draft is never readable by more
        # people than the file that it replaces.
        permissions = 0o666 if mode is None else stat.S_IMODE(mode) & 0o600
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        with open(os.open(draft, flags, permissions), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        if check is not None:
            check()
        target = os.path.realpath(path)
        if overwrite:
            os.replace(draft, target)
            return
        try:
            # Unlike renaming, a hard link fails where the target exists.
            os.link(draft, target)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems have no links. There, of several writers one makes the
            # file, whose place the draft then takes.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(draft, target)


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a file beside others that do so, too; fail at once if it is locked.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    FileExistsError
        If it is locked.
    """
    lock = f"{os.path.realpath(path)}.lock"
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        raise FileExistsError(
            errno.EEXIST,
            "is being replaced by another process (if none is at work, delete the "
            "lock that one has left)",
            lock,
        ) from None
    try:
        yield
    finally:
        os.unlink(lock)


@contextmanager
def _draft(path: str | os.PathLike[str]) -> Iterator[str]:
    """Path of a temporary file in the same folder, which is removed afterwards."""
    folder = os.path.dirname(os.path.realpath(path))
    draft = os.path.join(folder, f".skanchor-{secrets.token_hex(8)}")
    try:
        yield draft
    except OSError as error:
        # The error names the file that the user knows.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Mode of an existing file, with its kind; None if there is no file."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
