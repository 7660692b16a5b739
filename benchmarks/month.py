"""``python -m benchmarks.month``: thirty days of jobs in the testing kit, against two seconds.

An hourly job that submits itself, every third of which fails twice, a worker that vanishes once a
day, and a mail a day: about 1,200 attempts and 4,000 events (submissions, claims, ends, recoveries,
sweeps), each at its own instant of the clock.
"""

from time import perf_counter, process_time

from mainspring import App, Context
from mainspring.testing import Kit

BUDGET_SECONDS = 2.0
ROUNDS = 5
DAYS = 30

app = App("month")


@app.job()
def hourly(ctx: Context, hour: int) -> None:
    if hour % 3 == 0 and ctx.tries < 3:
        raise OSError("away")
    hourly.options(delay="1h").submit(hour + 1)


@app.job(queue="mail")
async def daily(day: int) -> None: ...


def month() -> int:
    """Live through a month; return how many attempts that were."""
    with Kit(app) as kit:
        hourly.submit(0)
        for day in range(DAYS):
            daily.options(delay=f"{day}d").submit(day)
        attempts = 0
        for _ in range(DAYS):
            kit.lose(hourly)
            attempts += kit.advance("1d", drain=True).attempts
    return attempts


if __name__ == "__main__":
    for _ in range(ROUNDS):
        wall, cpu = perf_counter(), process_time()
        count = month()
        wall, cpu = perf_counter() - wall, process_time() - cpu
        print(f"{count:,} attempts: {wall:.2f} s, CPU {cpu:.2f} s (budget {BUDGET_SECONDS:g} s)")
