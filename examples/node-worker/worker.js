// The handlers of this example, and the program: node worker.js, with MAINSPRING_GRPC=HOST:PORT.
import { setTimeout as sleep } from "node:timers/promises";
import { Fail, RetryAfter, Worker } from "./mainspring.js";

const handlers = {
  "math.add": {
    run: ({ a, b }) => ({ sum: a + b }),
  },
  "report.build": {
    options: { doc: "Builds a report of so many rows.", timeout_ms: 60_000 },
    async run({ rows }, context) {
      context.log("begun", { rows });
      for (let row = 1; row <= rows; row += 1) context.progress(row, rows, "rows");
      context.log("built");
      return { rows, key: context.effectKey };
    },
  },
  "mail.flaky": {
    options: { max_attempts: 3 },
    run(_, context) {
      if (context.attempt < 2) throw new RetryAfter("the mail server is busy", 50);
      return { attempt: context.attempt };
    },
  },
  "invoice.refuse": {
    run() {
      throw new Fail("the invoice was cancelled");
    },
  },
  "video.render": {
    async run(_, context) {
      context.log("rendering");
      await sleep(60_000, undefined, { signal: context.signal });
    },
  },
};

const worker = new Worker({
  address: process.env.MAINSPRING_GRPC ?? "127.0.0.1:8471",
  key: process.env.MAINSPRING_KEY,
  queues: { default: 8 },
  handlers,
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => worker.stop());
await worker.run();
