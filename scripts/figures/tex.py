"""Texts for LaTeX: whatever a label, a host or a command holds comes out as letters, never as a command."""
import re
import unicodedata

# $ and braces as mathematics: the text ones are of a font that LaTeX alone has as bitmaps only.
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\ensuremath{\lbrace}",
    "}": r"\ensuremath{\rbrace}", "$": r"\ensuremath{\mathdollar}", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": "{`}", "'": "{'}", "\u00a0": "~",
    "×": r"\ensuremath{\times}", "µ": r"\ensuremath{\mu}", "μ": r"\ensuremath{\mu}", "−": r"\ensuremath{-}",
    "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "±": r"\ensuremath{\pm}", "°": r"\ensuremath{^\circ}",
    "·": r"\ensuremath{\cdot}", "–": "--", "—": "---", "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "®": r"(R)", "™": r"(TM)",
}
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030a": "r", "\u0327": "c",
           "\u030c": "v", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u030b": "H"}


def character(c):
    """One that pdflatex has no letter for is written as its number: U+4E2D."""
    if c in SPECIAL:
        return SPECIAL[c]
    if " " <= c <= "~" or c == "\0":
        return c
    base, *marks = unicodedata.normalize("NFD", c)
    if base.isascii() and base.isalpha() and len(marks) == 1 and marks[0] in ACCENTS:
        return rf"\{ACCENTS[marks[0]]}{{{base}}}"
    return f"U+{ord(c):04X}" if c.isprintable() else " "


def escape(text):
    """In one line, and without ligatures: -- stays two hyphens."""
    letters = "".join(map(character, re.sub("-(?=-)", "-\0", str(text)))).replace("\0", "{}")
    return re.sub(r"(?<=\d) \\%", r"\\,\\%", letters)


def slug(text):
    """Lower-case letters and digits with hyphens between them: what keys and file names are made of."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")
