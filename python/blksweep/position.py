"""Where an epoch stands: what a checkpoint keeps, and how it is read back."""
from __future__ import annotations

from dataclasses import dataclass

VERSION = 1
_SAID_AS = {"granule": "granule (of direct, engine and the filesystem)", "places": "places (where the files lie, which this order follows)"}


@dataclass
class Position:
    """`done` samples of epoch `epoch` are delivered, by all ranks together."""

    epoch: int = 0
    done: int = 0


def to_state(position: Position, identity: str, settings: dict) -> dict:
    """A small dict of plain values, for a checkpoint of any kind."""
    return {"version": VERSION, "epoch": position.epoch, "done": position.done, "data": identity,
            "settings": dict(settings)}


def from_state(state: dict, identity: str, settings: dict, samples: int) -> Position:
    """The position of a state; ValueError where it is not of this data set and order."""
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError("this is not the state of a blksweep loader of this version")
    if state.get("data") != identity:
        raise ValueError("the state is of another data set: the files, their sizes or labels differ")
    theirs = state.get("settings")
    if isinstance(theirs, dict):
        # States of before there were other scopes, and of before granule and places were in them.
        theirs = {"window_scope": "global", **{n: settings.get(n) for n in _SAID_AS}, **theirs}
    for name, value in settings.items():
        if name in ("ranks", "places") and state.get("done") == 0:
            continue  # an epoch that has not begun is shared out anew
        if not isinstance(theirs, dict) or theirs.get(name) != value:
            was = theirs.get(name) if isinstance(theirs, dict) else None
            name = _SAID_AS.get(name, name)
            raise ValueError(f"{name}={value!r}, but the state is of {name}={was!r}: "
                             "samples would come twice or never")
    epoch, done = state.get("epoch"), state.get("done")
    if not all(isinstance(v, int) and v >= 0 for v in (epoch, done)) or done > samples:
        raise ValueError(f"epoch={epoch!r}, done={done!r}: no position in {samples} samples")
    return Position(epoch, done)
