# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""bench_stats: the numbers that bench_report.py and bench_targets.py are made of.

The middle is the median; the spread is the median absolute deviation times 1.4826 (which makes it
comparable with a standard deviation). What a side adds is the median over the rounds of (side -
none) of the same round, because the machine drifts and sides take turns. p is Welch's two-sided t-test
of the side against none, on the samples themselves. Intervals, of what a side adds and of ratios of
what two sides add, hold 90 % of a bootstrap over rounds; with fewer than five rounds they are little
more than the range of what was seen.
"""
import csv
import math
import random

RESAMPLES = 2000
# Order of display; in a run they take turns.
SIDES = ["none", "ebpfrec", "ebpfrec-light", "ebpfrec-offcpu", "floor-empty", "floor-clock", "perf", "perf-watched",
         "ftrace-watched", "perf-z", "ftrace", "ftrace-ring", "bpf-count", "bpf-print", "perf-offcpu", "bcc-offcpu"]


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def quantile(values, q):
    """Linear between the two nearest order statistics."""
    values = sorted(values)
    at = q * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def spread(values):
    middle = median(values)
    return 1.4826 * median([abs(v - middle) for v in values])


def beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 1000):
        for factor in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                       -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + factor * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + factor / c
            c = c if abs(c) > tiny else tiny
            result *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return result


def beta_incomplete(a, b, x):
    """Regularised, I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def welch(xs, ys):
    """(t, degrees of freedom, two-sided p), or None where it is not defined."""
    if len(xs) < 2 or len(ys) < 2:
        return None
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    var_x = sum((v - mean_x) ** 2 for v in xs) / (len(xs) - 1) / len(xs)
    var_y = sum((v - mean_y) ** 2 for v in ys) / (len(ys) - 1) / len(ys)
    if var_x + var_y == 0:
        return None
    t = (mean_x - mean_y) / math.sqrt(var_x + var_y)
    freedom = (var_x + var_y) ** 2 / (var_x ** 2 / (len(xs) - 1) + var_y ** 2 / (len(ys) - 1))
    return t, freedom, beta_incomplete(freedom / 2, 0.5, freedom / (freedom + t * t))


class Run:
    """The samples of one run of the suite; warm-ups are left out."""

    def __init__(self, path):
        self.series = {}  # (case, metric, side) -> {round: [values]}
        self.about = {}  # (case, metric) -> (unit, better)
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                if row["warm_up"] == "1":
                    continue
                key = row["case"], row["metric"], row["side"]
                self.series.setdefault(key, {}).setdefault(int(row["round"]), []).append(float(row["value"]))
                self.about[key[:2]] = row["unit"], row["better"]

    def values(self, case, metric, side):
        return [v for of_round in self.series.get((case, metric, side), {}).values() for v in of_round]

    def median(self, case, metric, side):
        values = self.values(case, metric, side)
        return median(values) if values else None

    def per_round(self, case, metric, side):
        return {r: median(v) for r, v in self.series.get((case, metric, side), {}).items()}

    def rounds(self, case, metric, sides):
        """Rounds in which every side has a sample."""
        common = None
        for side in sides:
            have = set(self.per_round(case, metric, side))
            common = have if common is None else common & have
        return sorted(common or [])

    def added(self, case, metric, side):
        mine, none = self.per_round(case, metric, side), self.per_round(case, metric, "none")
        return [mine[r] - none[r] for r in self.rounds(case, metric, (side, "none"))]

    def sides(self, case, metric):
        found = [s for c, m, s in self.series if (c, m) == (case, metric)]
        return sorted(found, key=lambda s: SIDES.index(s) if s in SIDES else len(SIDES))


def number(v):
    """Four significant digits, thousands separated."""
    if v is None:
        return "-"
    if v == 0 or abs(v) >= 1000:
        return f"{v:,.0f}"
    return f"{v:.{max(0, 3 - math.floor(math.log10(abs(v))))}f}"


def ratio_of_added(run, case, metric, side, other):
    """(ratio, low, high, rounds) of what two sides add to none, 90 % interval; infinite: other adds nothing."""
    rounds = run.rounds(case, metric, (side, other, "none"))
    if not rounds:
        return None
    mine, its, none = (run.per_round(case, metric, s) for s in (side, other, "none"))

    def ratio(picked):
        below = median([its[r] - none[r] for r in picked])
        return median([mine[r] - none[r] for r in picked]) / below if below > 0 else math.inf

    dice = random.Random(1)
    draws = [ratio([dice.choice(rounds) for _ in rounds]) for _ in range(RESAMPLES)]
    # Infinite draws: the other side was not above none. They are kept, as the widest values.
    return ratio(rounds), quantile_of_draws(draws, .05), quantile_of_draws(draws, .95), len(rounds)


def quantile_of_draws(draws, q):
    return sorted(draws)[min(len(draws) - 1, int(q * len(draws)))]


def interval(values):
    """(median, low, high, values), 90 % by bootstrap."""
    if not values:
        return None
    dice = random.Random(1)
    draws = [median([dice.choice(values) for _ in values]) for _ in range(RESAMPLES)]
    return median(values), quantile_of_draws(draws, .05), quantile_of_draws(draws, .95), len(values)


def interval_of_ratio(above, below):
    """(ratio of the medians, low, high, values), 90 % by bootstrap of both."""
    if not above or not below:
        return None
    dice = random.Random(1)
    draws = [median([dice.choice(above) for _ in above]) / median([dice.choice(below) for _ in below])
             for _ in range(RESAMPLES)]
    return (median(above) / median(below), quantile_of_draws(draws, .05), quantile_of_draws(draws, .95),
            min(len(above), len(below)))


def percent_added(run, case, metric, side):
    mine, none = run.per_round(case, metric, side), run.per_round(case, metric, "none")
    return interval([100 * (mine[r] / none[r] - 1) for r in run.rounds(case, metric, (side, "none")) if none[r] > 0])
