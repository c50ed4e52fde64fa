"""What a form of storing samples saves of I/O and costs of CPU time: files, tar, codecs, half precision."""
import common
import curves
import ladder
import load as data
import style

TITLE = "Packing: I/O against CPU time"
REPORTED = ("Isenko et al. (Where Is My Training Bottleneck?, SIGMOD 2022): compression raises the throughput of a preprocessing pipeline "
            "where storage limits it and lowers it where the CPU does.")
FULL = {"SIZE": "4GiB", "DISK": "16GiB", "REPEATS": "10"}
FORMS = {"files": "files", "tar": "tar", "tar-zstd": "tar, zstd", "tar-lz4": "tar, lz4",
         "tar-blosc": "tar, blosc", "tar-fp16": "tar, fp16", "tar-fp16-zstd": "tar, fp16, zstd", "tar-fp16-lz4": "tar, fp16, lz4"}
ORDERS = {"random": ("random order", 1, "o"), "lba": ("LBA order", 4, "s")}


def load(db, cells):
    """{form: {order: (samples per second, KiB read a sample, CPU ms a sample)}}, of each repeat."""
    columns = [curves.by_round(db, cells, what) for what in
               ("samples_per_s", "own_read_bytes / 1024.0 / samples", "cpu_ns / 1e6 / samples")]
    found = {}
    for form, word in FORMS.items():
        for c in cells:
            if c.disk.split(", ")[-1] == form and all(c.cell_id in column for column in columns):
                found.setdefault(word, {})[c.settings["order"]] = [list(column[c.cell_id].values()) for column in columns]
    if not found:
        raise data.NothingToDraw("no form has a complete run")
    return found


def draw(found, cells, facts):
    del cells, facts
    fig, axes = ladder.figure(list(found), 3)
    handles = {}
    for at, orders in enumerate(found.values()):
        for order, columns in orders.items():
            word, colour, marker = ORDERS[order]
            for ax, values in zip(axes, columns):
                handles[word] = ladder.row(ax, at, values, index=colour, marker=marker)
    for ax, label in zip(axes, ("samples/s", "read (KiB)", "CPU (ms)")):
        ax.set_xlim(left=0)
        ax.set_xlabel(label)
    for word, handle in handles.items():
        handle.set_label(word)
    style.legend_above(fig, list(handles.values()))
    return fig


def describe(found, cells):
    del cells
    groups = [columns[0] for orders in found.values() for columns in orders.values()]
    return ("The same arrays of float32 in different forms, cold, one thread that "
            "decodes; read from the device and CPU time of the process are of one sample. Forms are measured one after the other, so their "
            f"differences are also those of time; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    return "in LBA order " + "; ".join(
        f"{form} {ladder.seen(of['lba'][0], digits='.0f')} samples/s, {ladder.seen(of['lba'][1], digits='.0f')} KiB and "
        f"{ladder.seen(of['lba'][2])} ms of CPU" for form, of in loaded.items() if "lba" in of) + "."
