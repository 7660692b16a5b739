"""What is entered around every handler of an app, in the thread or coroutine that runs it."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
)
from typing import Any

from mainspring.app.context import Context
from mainspring.domain.errors import InvalidInput

#: Makes a context manager for one attempt; it is entered before the handler and left after it.
Middleware = Callable[
    [Context[Any]], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]
]


def call_inside(
    middleware: Sequence[Middleware], context: Context[Any], function: Callable[[], Any]
) -> Any:
    """Call a sync handler inside its middleware, outermost first."""
    with ExitStack() as stack:
        for make in middleware:
            entered = make(context)
            if not isinstance(entered, AbstractContextManager):
                raise _awaited(make, context)
            stack.enter_context(entered)
        return function()


async def await_inside(
    middleware: Sequence[Middleware],
    context: Context[Any],
    function: Callable[[], Coroutine[Any, Any, Any]],
) -> Any:
    """Await an async handler inside its middleware, outermost first; both kinds are welcome."""
    async with AsyncExitStack() as stack:
        for make in middleware:
            entered = make(context)
            if isinstance(entered, AbstractAsyncContextManager):
                await stack.enter_async_context(entered)
            else:
                stack.enter_context(entered)
        return await function()


def _awaited(make: Middleware, context: Context[Any]) -> InvalidInput:
    name = getattr(make, "__name__", type(make).__name__)
    return InvalidInput(
        f"the middleware {name} must be awaited, but {context.kind} is no async handler",
        hint="return a plain context manager, or one that is both",
    )
