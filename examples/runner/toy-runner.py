#!/usr/bin/env python3
"""A runner of the lockbench cell protocol, for Python's threading.Lock.

It shows all that a runner must do and little else; the protocol is
docs/CELL_PROTOCOL.md. Try it with

    lockbench run --runner python=examples/runner/toy-runner.py --workload max-contention

It knows closed loops on one lock, with sections and think times of their mean
length. Whatever else it is asked for it answers with the outcome "skipped".
"""
import json
import os
import sys
import threading
import time

PROTOCOL = 1


def now_ns():
    """The machine's monotonic clock, which all processes share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def finish(sample, **fields):
    """Send the record, which is the last message, and end."""
    send({"type": "record", "sample": {**sample, **fields}})
    os._exit(0)


def mean_units(length):
    """The mean of a resolved distribution, in work units."""
    a, b, pct = length.get("a", 0), length.get("b", 0), length.get("pct", 0)
    if length["kind"] == "uniform":
        return (a + b) // 2
    if length["kind"] == "bimodal":
        return int(a * (1 - pct / 100) + b * pct / 100)
    return a


def spin(x, units):
    """The work unit: one step of Knuth's MMIX generator."""
    for _ in range(units):
        x = (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    return x


def unsupported(load):
    for key in ("hog", "read_lines", "write_lines", "read_pct", "try_pct", "timed_pct", "phases", "arrivals"):
        if load.get(key):
            return key
    return "locks" if load["locks"] > 1 else None


class Cell:
    """One lock, its workers, and what the lock protects."""

    def __init__(self, spec):
        self.workers = spec["workers"]
        self.section = mean_units(spec["load"]["section"])
        self.think = mean_units(spec["load"]["think"])
        self.lock = threading.Lock()
        self.owner = None  # protected by the lock
        self.count = 0  # protected by the lock
        self.violations = 0

    def interval(self, length_ns, ops):
        """Run until length_ns has passed or, if ops > 0, that work is done."""
        counts = [0] * self.workers
        stop = threading.Event()
        gate = threading.Barrier(self.workers + 1)

        def work(me):
            share = ops // self.workers + (me < ops % self.workers)
            x, n = me, 0
            gate.wait()
            while n < share if ops else True:
                with self.lock:
                    if stop.is_set():  # only acquisitions before the stop count
                        break
                    if self.owner is not None:
                        self.violations += 1
                    self.owner = me
                    self.count += 1
                    x = spin(x, self.section)
                    if self.owner != me:
                        self.violations += 1
                    self.owner = None
                    n += 1
                    counts[me] = n
                x = spin(x, self.think)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(self.workers)]
        for t in threads:
            t.start()
        gate.wait()
        cpu, start = time.process_time_ns(), now_ns()
        if not ops:
            time.sleep(length_ns / 1e9)
            # Holding the lock makes the counts and the stop one instant.
            with self.lock:
                stop.set()
                end, cpu_end, done = now_ns(), time.process_time_ns(), list(counts)
        for t in threads:
            t.join()
        if ops:
            end, cpu_end, done = now_ns(), time.process_time_ns(), counts
        return done, end - start, now_ns() - end, cpu_end - cpu


def main():
    first = sys.stdin.readline()
    if not first:
        return  # no parent
    message = json.loads(first)
    spec = message["spec"]
    sample = {"type": "sample", "outcome": "ok", "threads": "free"}
    if message["type"] != "spec" or message["protocol"] != PROTOCOL:
        finish(sample, outcome="error", reason="want a spec of cell protocol %d" % PROTOCOL)
    if hasattr(os, "sched_getaffinity") and spec.get("cpus") and sorted(os.sched_getaffinity(0)) != spec["cpus"]:
        finish(sample, outcome="error", reason="not on the processors asked for")
    if unsupported(spec["load"]):
        finish(sample, outcome="skipped", reason="the toy runner does not know " + unsupported(spec["load"]))
    if spec.get("pin_cpus"):
        finish(sample, outcome="skipped", reason="the toy runner does not pin workers")
    cell = Cell(spec)

    begin, at = threading.Event(), [0]

    def listen():
        for line in sys.stdin:
            m = json.loads(line)
            if m["type"] == "go":
                at[0] = m.get("at_ns", 0)
                begin.set()
            elif m["type"] == "stop":
                os._exit(0)  # no record
        os._exit(1)  # the parent is gone: leave at once

    threading.Thread(target=listen, daemon=True).start()
    send({"type": "ready", "protocol": PROTOCOL, "pid": os.getpid(), "program": "toy-runner.py"})
    begin.wait()
    time.sleep(max(0, at[0] - now_ns()) / 1e9)

    warmup_ns, drains = 0, 0
    if spec["warmup_ns"]:
        send({"type": "step", "name": "warm-up"})
        _, warmup_ns, drains, _ = cell.interval(spec["warmup_ns"], 0)
    send({"type": "step", "name": "throughput"})
    before = cell.count
    counts, elapsed, drain, cpu = cell.interval(spec["duration_ns"], spec.get("ops", 0))
    ops = sum(counts)
    if cell.count - before != ops:  # an update was lost
        cell.violations += abs(cell.count - before - ops)
    sample.update(
        ops=ops, elapsed_ns=elapsed, warmup_ns=warmup_ns, drain_ns=drains + drain, per_worker_ops=counts,
        throughput_ops_s=ops / elapsed * 1e9, violations=cell.violations,
        wall_ns_per_op=elapsed / ops if ops else 0, cpu_ns_per_op=cpu / ops if ops else 0,
    )
    if len(counts) > 1 and ops:
        squares = sum(n * n for n in counts)
        sample["fairness"] = {"jain": ops * ops / (len(counts) * squares)}
        if min(counts):
            sample["fairness"]["max_min"] = max(counts) / min(counts)
    if cell.violations:
        sample.update(outcome="violation", reason="exclusion: two workers inside, or a lost update")
    finish(sample)


main()
