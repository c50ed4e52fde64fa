"""PGF files for LaTeX, without LaTeX: the document sets the texts in its own font, so that only their places
depend on the font that they are measured in here.

Texts are escaped: a label of somebody cannot be a command. Pictures inside (thousands of dots) stand beside the
file and are found through \\blkpath, which numbers.tex defines.
"""
import logging
import pathlib

import tex

RESOLUTION = 300  # dots per inch of pictures inside

HEAD = r"""%% A figure of blksweep paper: \usepackage{pgf}, \input numbers.tex, then \input this file.
\begingroup%%
\makeatletter%%
\begin{pgfpicture}%%
\pgfpathrectangle{\pgfpointorigin}{\pgfqpoint{%fin}{%fin}}%%
\pgfusepath{use as bounding box, clip}%%
"""
TAIL = r"""\end{pgfpicture}%
\makeatother%
\endgroup%
"""


def renderer_class():
    from matplotlib.backend_bases import RendererBase
    from matplotlib.backends.backend_pgf import RendererPgf

    class Renderer(RendererPgf):
        def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
            super().draw_text(gc, x, y, tex.escape(s), prop, angle, ismath, mtext)

        def get_text_width_height_descent(self, s, prop, ismath):
            return RendererBase.get_text_width_height_descent(self, s, prop, ismath)
    return Renderer


def save(fig, path):
    from matplotlib.backends import backend_pgf
    from matplotlib.backends.backend_mixed import MixedModeRenderer
    backend_pgf._get_image_inclusion_command = lambda: r"\pgfimage"  # matplotlib 3.6 asks LaTeX otherwise
    logging.getLogger("matplotlib.backends.backend_pgf").setLevel(logging.ERROR)
    path = pathlib.Path(path)
    usual = fig.dpi
    fig.dpi = RESOLUTION
    try:
        wide, height = fig.get_size_inches()
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD % (wide, height))
            fig.draw(MixedModeRenderer(fig, wide, height, fig.dpi, renderer_class()(fig, file)))
            file.write(TAIL)
    finally:
        fig.dpi = usual
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{" + path.stem + "-img", r"{\blkpath " + f"{path.parent.name}/{path.stem}-img"),
                    encoding="utf-8")
