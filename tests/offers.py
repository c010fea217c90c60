"""Arguments that a message offers, each with the case in which it helps."""

import re

_OFFER = re.compile(
    r"((?:If|To) [^.]*?(?:'[^']*'[^.]*?)*?): ((?:--all-human|\w+=).*?)"
    r"\.(?= (?:If|To) |$| [A-Z])"
)


def offers(message):
    """Cases that a message names, each with arguments of `read_battles`.

    ``--all-human`` is an argument, too.
    """
    return [
        (case, eval(f"dict({text.replace('--all-human', 'all_human=True')})"))
        for case, text in _OFFER.findall(str(message))
    ]
