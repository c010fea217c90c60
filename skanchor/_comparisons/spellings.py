"""Names that are probably one model's, spelt in two ways by two files."""

# ruff: noqa: RUF001 (letters that look alike are the matter)

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

__all__ = ["appearance", "spelt_differently"]

# Letters that are drawn as a Latin one: Cyrillic, Greek; and dashes.
_TWINS = {
    ord(twin): latin
    for twins, latins in (
        ("АВЕЅІЈКМНОРСТУХ", "ABESIJKMHOPCTYX"),
        ("аеісјорѕухһԁԛԝӏ", "aeicjopsyxhdqwl"),
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
        ("αικνορυ", "aikvopu"),
        ("‐‑‒–—―−", "-------"),
    )
    for twin, latin in zip(twins, latins, strict=True)
}

_BLANK = r"[\s\-_./:]+"
_DATE = re.compile(rf"{_BLANK}(20\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:[0-2]\d|3[01]))$")
_WORDS = re.compile(r"[^\W\d_]+|\d+|[^\w\s\-./:]")
_NEAR = 0.9
# In a shorter word another letter is as a rule another model: 4 and 4o, it and i.
_LONG_WORD = 5
# A longer one is no name, and would take all memory.
_LONGEST_WORD = 50


def appearance(label: str) -> str:
    """Reduce a name to what can be seen of it.

    Blanks around it and case do not count, nor do letters that no eye sees, the ways in
    which Unicode composes a letter, and the script that a letter is taken from.

    Parameters
    ----------
    label : str
        The name.

    Returns
    -------
    str
        Equal for names that look alike.

    Examples
    --------
    >>> from skanchor._comparisons.spellings import appearance
    >>> appearance("\uff27PT\u200b-4 ") == appearance("gpt\u20114")
    True
    """
    if not label.isascii():
        plain = unicodedata.normalize("NFKC", label)
        seen = (char for char in plain if unicodedata.category(char) != "Cf")
        label = "".join(seen).translate(_TWINS)
    return label.strip().casefold()


class _Name(NamedTuple):
    """A model's name, taken apart; a vendor or date that is not told is empty."""

    vendor: str
    words: tuple[str, ...]
    date: str

    @classmethod
    def of(cls, label: str) -> _Name:
        vendor, _, rest = appearance(label).rpartition("/")
        dated = _DATE.search(rest)
        date = re.sub(r"\D", "", dated[1]) if dated else ""
        return cls(_run_together(_words(vendor)), _words(_DATE.sub("", rest)), date)

    def may_be(self, other: _Name) -> bool:
        """Whether neither vendor nor date tells the two apart."""
        return all(
            not one or not two or one == two
            for one, two in ((self.vendor, other.vendor), (self.date, other.date))
        )


def spelt_differently(
    labels: Iterable[Any], known: Iterable[Any]
) -> list[tuple[str, str]]:
    """Pair names with known ones that are probably the same model's.

    Case, separators, a vendor before ``/`` and a date at the end do not count, unless
    both names tell vendors, or dates, that differ; nor does a letter too many, too few
    or out of place in a long word. Numbers do: they tell versions and sizes apart.

    Parameters
    ----------
    labels : iterable
        Names; what is no text is passed over.
    known : iterable
        Names, others than these.

    Returns
    -------
    list of (str, str)
        Label and known name, at most one pair of each label.
    """
    whole = defaultdict(list)
    near = defaultdict(list)
    for label in filter(_is_str, known):
        name = _Name.of(label)
        for key in _keys(name):
            whole[key].append((label, name))
        for key in _slips(name.words):
            near[key].append((label, name))
    pairs: list[tuple[str, str]] = []
    if not whole:
        return pairs
    for label in filter(_is_str, labels):
        name = _Name.of(label)
        alike = [found for key in _keys(name) for found in whole.get(key, ())]
        alike += [
            (other, found)
            for key in _slips(name.words)
            for other, found in near.get(key, ())
            if _is_slip(name.words, found.words)
        ]
        twins = (other for other, found in alike if name.may_be(found))
        twin = next(twins, None)
        if twin is not None:
            pairs.append((label, twin))
    return pairs


def _is_str(label: Any) -> bool:
    return isinstance(label, str)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(text))


def _run_together(words: Iterable[str]) -> str:
    """Words without what separates them, but for numbers, which stay two."""
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(words))


def _keys(name: _Name) -> Iterator[str]:
    """Without its vendor, and with it as if it were part of the name."""
    yield _run_together(name.words)
    if name.vendor:
        yield _run_together((name.vendor, *name.words))


def _slips(words: tuple[str, ...]) -> set[str]:
    """The name as it is, and with one letter of a long word left out."""
    slips = {" ".join(words)}
    for at, word in enumerate(words):
        if _LONG_WORD <= len(word) <= _LONGEST_WORD and word.isalpha():
            for k in range(len(word)):
                shorter = word[:k] + word[k + 1 :]
                slips.add(" ".join((*words[:at], shorter, *words[at + 1 :])))
    return slips


def _is_slip(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether a letter is too many or out of place, not one put for another."""
    one, two = " ".join(words), " ".join(others)
    if len(one) == len(two) and sorted(one) != sorted(two):
        return False
    return SequenceMatcher(None, one, two, autojunk=False).ratio() >= _NEAR
