"""An order flow. What belongs together is one transaction, so that no crash can part it.

The order and the job that charges it are committed together. The payment and the end of the job
that made it are committed together. When every try has failed, the refund is submitted in the
transaction that makes the job a dead letter.
"""

import os

from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from mainspring import App, Context, Fail, Failure, Retry, backoff

#: The shop's tables and Mainspring's live in one database: that is what makes one transaction.
STORE = os.environ.get("DATABASE_URL", "sqlite:///shop.db")
engine = create_engine(STORE.replace("postgresql://", "postgresql+psycopg://"))
sessions = sessionmaker(engine)
app = App("shop")


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "shop_orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    cents: Mapped[int]
    card: Mapped[str]
    state: Mapped[str] = mapped_column(default="open")


class Payment(Base):
    __tablename__ = "shop_payments"

    order_id: Mapped[int] = mapped_column(primary_key=True)
    cents: Mapped[int]
    receipt: Mapped[str]


class BankDown(Exception):
    """The bank does not answer; it may do so later."""


@app.job()
def give_up(failure: Failure) -> None:
    """The payment job died: close the order, so that nobody waits for it."""
    assert failure.payload is not None
    with sessions.begin() as session:
        order = session.get_one(Order, failure.payload["order_id"])
        order.state = f"given up: {failure.error_message}"


@app.job(
    queue="payments",
    timeout="30s",
    retry=Retry(max_attempts=4, wait=backoff.exponential("200ms"), on=(BankDown,)),
    on_exhausted=give_up,
)
def charge(ctx: Context, order_id: int) -> str:
    """Charge an order's card; the payment and the end of this job are one transaction."""
    with sessions() as session, ctx.transaction(session) as tx:
        order = session.get_one(Order, order_id)
        # The bank sees the same key in every attempt, so it charges once.
        receipt = _bank(order.card, order.cents, key=ctx.idempotency_key, attempt=ctx.tries)
        session.add(Payment(order_id=order.id, cents=order.cents, receipt=receipt))
        order.state = "paid"
        tx.result = receipt
    return receipt


def _bank(card: str, cents: int, *, key: str, attempt: int) -> str:
    """Stand for a payment service: one card is declined, one needs patience."""
    if card == "declined":
        raise Fail("card declined")
    if card == "slow bank" and attempt < 3:
        raise BankDown("no answer")
    return f"{cents} cents, key {key[-6:]}"


def place_order(session: Session, cents: int, card: str) -> Order:
    """Add an order and submit its payment, both in the session's transaction."""
    order = Order(cents=cents, card=card)
    session.add(order)
    session.flush()  # gives it its id
    charge.using(session).submit(order_id=order.id)
    return order


def states() -> dict[int, str]:
    """Return every order's state."""
    with sessions() as session:
        return {order.id: order.state for order in session.scalars(select(Order))}
