"""Arguments that a message offers, each with the case in which it helps."""

import re

_CASE = re.compile(r"(?<=\.) (?=(?:If|To) )")
_OFFER = re.compile(
    r"((?:If|To) .*?): ((?:--all-human|\w+=).*?)\.(?: [A-Z].*)?", re.DOTALL
)


def offers(message):
    """Cases that a message names, each with arguments of `read_battles`.

    ``--all-human`` is an argument, too.
    """
    parts = map(_OFFER.fullmatch, _CASE.split(str(message)))
    return [
        (part[1], eval(f"dict({part[2].replace('--all-human', 'all_human=True')})"))
        for part in parts
        if part
    ]
