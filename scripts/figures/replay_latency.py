"""Latency of the replayed requests beside what the trace recorded: shares of requests."""
import replay_lateness


def draw(found):
    return replay_lateness.draw_shares(found, ("latency", "latency_recorded"), "latency")


def describe(found):
    told = any(one.curves["latency_recorded"] for one in found)
    return ("Latency of the replayed requests, issue to completion." +
            (" Dashed: what the trace recorded." if told else " The traces tell no latencies."))
