"""REST and the event stream, as an ASGI application made from the route table."""
