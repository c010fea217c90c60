"""Pairs of names that probably mean one model, spelt differently in two files."""

# ruff: noqa: RUF001 (letters that look alike are the matter)

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

# Cyrillic and Greek letters that look like a Latin one, and dashes like the hyphen.
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

# What separates words; a year and month, perhaps a day, at the end; words, numbers and
# single signs.
_BLANK = r"[\s\-_./:]+"
_DATE = re.compile(rf"{_BLANK}(20\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:[0-2]\d|3[01]))$")
_WORDS = re.compile(r"[^\W\d_]+|\d+|[^\w\s\-./:]")
# Least similarity (of difflib, in [0, 1]) of names with a misspelling.
_NEAR = 0.9
# Misspellings are looked for in words of this many letters or more: in shorter words a
# different letter usually means a different model, as in 4 and 4o.
_LONG_WORD = 5
# Longer words are not names, and their misspellings would fill the memory.
_LONGEST_WORD = 50


def name_key(name: object) -> str:
    """Key by which names and labels are compared: letters and digits, without case.

    Parameters
    ----------
    name : object
        The name.

    Returns
    -------
    str

    Examples
    --------
    >>> from skanchor._battles.spellings import name_key
    >>> name_key("Model-A ") == name_key("model_a")
    True
    """
    # Decomposed, a letter stands without its accent, which is no letter.
    plain = unicodedata.normalize("NFKD", str(name)).casefold()
    return "".join(char for char in plain if char.isalnum())


def appearance(label: str) -> str:
    """Reduce a name to its visible form.

    Ignored are case, blanks around the name, invisible characters, how Unicode composes
    a letter, and whether a letter is Latin or a Cyrillic or Greek one that looks alike.

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
    >>> from skanchor._battles.spellings import appearance
    >>> appearance("\uff27PT\u200b-4 ") == appearance("gpt\u20114")
    True
    """
    if not label.isascii():
        # NFKC composes letters in one way; category Cf holds invisible characters.
        plain = unicodedata.normalize("NFKC", label)
        seen = (char for char in plain if unicodedata.category(char) != "Cf")
        label = "".join(seen).translate(_TWINS)
    return label.strip().casefold()


class _Name(NamedTuple):
    """A model's name in parts; the vendor and the date are empty if it has none."""

    vendor: str
    words: tuple[str, ...]
    date: str

    @classmethod
    def of(cls, label: str) -> _Name:
        # "vendor/words-date", with the date reduced to its digits.
        vendor, _, rest = appearance(label).rpartition("/")
        dated = _DATE.search(rest)
        date = re.sub(r"\D", "", dated[1]) if dated else ""
        return cls(_run_together(_words(vendor)), _words(_DATE.sub("", rest)), date)

    def may_be(self, other: _Name) -> bool:
        """Whether vendors and dates are equal, or missing in one of the names."""
        return all(
            not one or not two or one == two
            for one, two in ((self.vendor, other.vendor), (self.date, other.date))
        )


def spelt_differently(
    labels: Iterable[Any], known: Iterable[Any]
) -> list[tuple[str, str]]:
    """Pair names with known names that probably mean the same model.

    Ignored are case, separators, a vendor before ``/`` and a date at the end, unless
    both names have a vendor, or a date, and these differ. One letter too many, too few
    or out of place in a long word is ignored, too. Numbers must be equal: they are
    versions and sizes.

    Parameters
    ----------
    labels : iterable
        Names; values that are not texts are skipped.
    known : iterable
        Known names, distinct from ``labels``.

    Returns
    -------
    list of (str, str)
        Label and known name, at most one pair for each label.
    """
    # Index of the known names, so that not all pairs of names are compared: `whole` by
    # their words without separators, `near` by every way to leave out one letter.
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
        # Candidates with equal words come first, then those with a misspelling.
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
    """Split a name into words of letters, numbers and single other signs."""
    return tuple(_WORDS.findall(text))


def _run_together(words: Iterable[str]) -> str:
    """Join words; a space stays between two numbers only, as in "3 5"."""
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(words))


def _keys(name: _Name) -> Iterator[str]:
    """Yield the joined words of a name without its vendor, and with it in front."""
    yield _run_together(name.words)
    if name.vendor:
        yield _run_together((name.vendor, *name.words))


def _slips(words: tuple[str, ...]) -> set[str]:
    """The words as one text, and each text with one letter of a long word removed.

    Two names that differ in one letter of a long word share such a text.
    """
    slips = {" ".join(words)}
    for at, word in enumerate(words):
        if _LONG_WORD <= len(word) <= _LONGEST_WORD and word.isalpha():
            for k in range(len(word)):
                shorter = word[:k] + word[k + 1 :]
                slips.add(" ".join((*words[:at], shorter, *words[at + 1 :])))
    return slips


def _is_slip(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether a letter is missing, added or moved, but not replaced by another."""
    one, two = " ".join(words), " ".join(others)
    # Equal length and different letters: one letter replaces another.
    if len(one) == len(two) and sorted(one) != sorted(two):
        return False
    return SequenceMatcher(None, one, two, autojunk=False).ratio() >= _NEAR
