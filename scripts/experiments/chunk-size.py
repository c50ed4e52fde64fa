"""Throughput of a zarr array by samples in a chunk and by workers."""
import statistics

import common
import curves
import style

TITLE = "Chunks of a zarr array"
REPORTED = ("zarr's tutorial advises chunks of 1 MB and more (there with compression): with few workers more samples in a chunk are "
            "faster, up to a plateau.")


def options(work):
    """The array is kept on the disk that is measured."""
    return ["--peer-data", str(work / "remote/mount/peers")]


def load(db, cells):
    """{workers: {samples in a chunk: [samples/s]}}."""
    rates = curves.by_round(db, cells, "samples_per_s")
    found = {}
    for c in cells:
        of = found.setdefault(int(c.settings["peer-workers"]), {})
        of[int(c.settings["peer"].partition(":")[2])] = list(rates.get(c.cell_id, {}).values())
    return dict(sorted(found.items()))


def draw(loaded, cells, facts):
    del cells, facts
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 2.2), layout="constrained")
    handles = [curves.line(ax, points, at, common.plural(workers, "worker"))
               for at, (workers, points) in enumerate(loaded.items(), 1)]
    curves.doubling(ax, [chunk for points in loaded.values() for chunk in points])
    everything = [v for points in loaded.values() for values in points.values() for v in values]
    style.measured(ax.yaxis, min(everything), max(everything), "log")
    ax.set(xlabel="samples in a chunk", ylabel="samples/s")
    ax.grid(axis="y")
    style.legend_above(fig, handles)
    return fig


def describe(loaded, cells):
    groups = [v for points in loaded.values() for v in points.values()]
    return (f"Samples per second over the samples in a chunk of an uncompressed zarr array, by dask's threads, cold, batches of "
            f"{cells[0].settings['batch']}; median, {curves.spread_text(groups)}; both axes logarithmic.")


def found(loaded, cells):
    del cells
    said = []
    for workers, points in loaded.items():
        middles = {chunk: statistics.median(values) for chunk, values in points.items() if values}
        best = max(middles, key=middles.get)
        said.append(f"{common.plural(workers, 'worker')}: fastest with chunks of {best}, {middles[best] / middles[min(middles)]:.2g} "
                    f"times as fast as with chunks of {min(middles)}")
    return "; ".join(said) + "."
