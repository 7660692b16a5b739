"""Places three orders and one that is rolled back, and shows what became of them."""

import shop
from shop import Base, app, charge, engine, give_up, place_order, sessions, states


def main() -> None:
    Base.metadata.create_all(engine)
    with app.embedded_sync(shop.STORE, migrate=True) as client:
        with sessions.begin() as session:
            orders = [
                place_order(session, 1_250, card) for card in ("good", "slow bank", "declined")
            ]
            numbers = {order.card: order.id for order in orders}
        try:
            with sessions.begin() as session:
                place_order(session, 99, "good")
                raise KeyboardInterrupt("the customer closed the page")
        except KeyboardInterrupt as error:
            print(f"rolled back, order and job: {error}")
        for job in (charge, give_up):
            for found in client.jobs.list(kinds=[job.kind]):
                ended = client.jobs.wait(found.job_id, timeout="30s")
                print(f"{ended.kind}: {ended.state.value} after {ended.tries} tries")
        told = states()
        for card, number in numbers.items():
            print(f"order {number} ({card}): {told[number]}")


if __name__ == "__main__":
    main()
