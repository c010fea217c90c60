"""Writing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager

# What file systems answer that know no second name of a file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def check_writable(path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Refuse a file that `write_atomically` could not write; leave it as it is.

    Parameters
    ----------
    path : str or path
        The file.
    overwrite : bool, default=True
        Whether one that exists may be replaced.

    Raises
    ------
    OSError
        If it is a directory, or exists and may not be replaced, or a file cannot be
        made in its directory.
    """
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise _os_error(errno.EISDIR, path)
    if mode is not None and not os.access(path, os.W_OK):
        raise _os_error(errno.EACCES, path)
    if mode is not None and not stat.S_ISREG(mode):
        return
    if mode is not None and not overwrite:
        raise _os_error(errno.EEXIST, path)
    with _draft(path) as draft:
        open(draft, "xb").close()


def write_atomically(
    path: str | os.PathLike[str], content: str | bytes, *, overwrite: bool = True
) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : str or path
        The file; one that exists is replaced when the new one is complete, and stays as
        it was if writing fails. A link keeps pointing to its file.
    content : str or bytes
        What to write; text is written as UTF-8.
    overwrite : bool, default=True
        Whether a file that exists, or comes to exist meanwhile, may be replaced.

    Raises
    ------
    OSError
        If the directory is missing or not writable, the disk is full, or the file
        exists and may not be replaced.
    """
    data = content.encode() if isinstance(content, str) else content
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        # A device or a pipe must not be replaced by a file. Its name may be a link
        # to what has none, such as /dev/stdout.
        with open(path, "wb") as file:
            file.write(data)
        return
    with _draft(path) as draft:
        # Unlike a file of tempfile, this one gets the permissions of any new file.
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        _put(draft, os.path.realpath(path), overwrite)


def _put(draft: str, target: str, overwrite: bool) -> None:
    """Give a complete file its name."""
    if not overwrite:
        try:
            # Unlike a renaming, this fails where the name is taken.
            return os.link(draft, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        if os.path.exists(target):
            raise _os_error(errno.EEXIST, target)
    os.replace(draft, target)


@contextmanager
def _draft(path: str | os.PathLike[str]) -> Iterator[str]:
    """Name of a file beside the one to write, which is gone afterwards."""
    folder = os.path.dirname(os.path.realpath(path))
    draft = os.path.join(folder, f".skanchor-{secrets.token_hex(8)}")
    try:
        yield draft
    except OSError as error:
        # The reader asked for `path` and does not know the draft.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


def _mode(path: str | os.PathLike[str]) -> int | None:
    """What kind of file is there; None if there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _os_error(number: int, path: str | os.PathLike[str]) -> OSError:
    return OSError(number, os.strerror(number), str(path))
