"""Requests in flight over time when a trace was recorded."""
import trace_rate


def draw(found):
    return trace_rate.draw_steps(found, "depth", "requests in flight", "no trace tells the latency of every request")


def describe(found):
    untold = [one.title() for one in found if not one.curves["depth"]]
    return ("Mean of the requests in flight in at most 1,024 equal steps, from each request's latency."
            + (f" Without latencies: {'; '.join(untold)}." if untold else ""))
