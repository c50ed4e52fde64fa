"""Fonts of PDF figures for papers, made of those that come with matplotlib: no LaTeX and no font package is needed.

"cm": Computer Modern, LaTeX's own. Its file has the letters at TeX's places, so that "<" would come out as an
inverted exclamation mark, and many signs are not there: a font is made of its letters, digits and what else is
right, in one of STIX, which has the signs. "times": STIX alone, which goes with Times.
"""
import logging
import pathlib

NAME = "blksweep-cm"
LEFT_AT_ZERO = 1 << 1  # every glyph begins at its left side bearing: not those of STIX, whatever it says
HINTS = ("fpgm", "prep", "cvt ", "kern", "GPOS", "GSUB", "GDEF", "hdmx", "LTSH", "VDMX", "gasp", "DSIG")


def taken(cmap):
    """{code: glyph} of Computer Modern at which its font has what Unicode says."""
    from fontTools.agl import UV2AGL
    return {code: glyph for code, glyph in cmap.items()
            if 0x21 <= code <= 0x7E and (UV2AGL.get(code) == glyph or chr(code) == "'")}


def replace_glyph(base, name, other, glyph):
    """`name` of one font becomes `glyph` of the other, at its own size."""
    scale = base["head"].unitsPerEm / other["head"].unitsPerEm
    drawn = other["glyf"][glyph]
    drawn.expand(other["glyf"])
    if hasattr(drawn, "program"):
        drawn.program.fromBytecode(b"")
    drawn.coordinates.scale((scale, scale))
    drawn.coordinates.toInt()
    drawn.recalcBounds(base["glyf"])
    base["glyf"][name] = drawn
    advance, _ = other["hmtx"][glyph]
    base["hmtx"][name] = (round(advance * scale), drawn.xMin if drawn.numberOfContours else 0)


def rename(font):
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            record.string = NAME


def make_cm(folder):
    """The path of the font, in `folder`; the same bytes each time."""
    import matplotlib
    from fontTools.ttLib import TTFont
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # of dates in files that are not ours
    fonts = pathlib.Path(matplotlib.get_data_path()) / "fonts/ttf"
    # Bounds: of three thousand glyphs, of which a hundred change, and have theirs; the font's are STIX's.
    base = TTFont(fonts / "STIXGeneral.ttf", recalcTimestamp=False, recalcBBoxes=False)
    cm = TTFont(fonts / "cmr10.ttf", recalcTimestamp=False)
    names = base.getBestCmap()
    for code, glyph in taken(cm["cmap"].getcmap(3, 1).cmap).items():
        replace_glyph(base, names[code], cm, glyph)
    for table in HINTS:
        if table in base:
            del base[table]
    base["head"].flags &= ~LEFT_AT_ZERO
    rename(base)
    path = pathlib.Path(folder) / (NAME + ".ttf")
    base.save(path)
    return path


def settings(font, folder):
    """What matplotlib is to be told, so that figures are set in `font`."""
    names = ["STIXGeneral"]
    if font == "cm":
        from matplotlib import font_manager
        font_manager.fontManager.addfont(make_cm(folder))
        names = [NAME, *names]
    return {"font.family": "serif", "font.serif": [*names, "DejaVu Serif"], "axes.unicode_minus": True,
            "text.hinting": "none", "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8,
            "legend.fontsize": 7.5, "xtick.labelsize": 7.5, "ytick.labelsize": 7.5}
