// A worker of Mainspring, written from proto/mainspring/v1/worker.proto and the stock gRPC library.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const here = dirname(fileURLToPath(import.meta.url));
const PROTO = process.env.MAINSPRING_PROTO ?? join(here, "..", "..", "proto");
const LOST = new Set([grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED]);
const CALL_MS = 30_000;
const PULSE_MS = 1_000;
const PAUSE_MS = 250;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The stubs of one service, made from the .proto files when the program starts. */
function service(name, file, address, key) {
  const definition = loader.loadSync(file, {
    includeDirs: [PROTO],
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const Service = grpc.loadPackageDefinition(definition).mainspring.v1[name];
  const client = new Service(address, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  if (key) metadata.set("authorization", `Bearer ${key}`);
  const ask = (method, message) =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + CALL_MS };
      client[method](message, metadata, options, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
  return { client, metadata, ask };
}

/** What the error is, for programs: "session_lost", "unknown_kind". */
export const codeOf = (error) => error.metadata?.get("mainspring-code")?.[0] ?? "";

/** Throw it, and the job is tried again after exactly this long. */
export class RetryAfter extends Error {
  constructor(message, milliseconds) {
    super(message);
    this.name = "RetryAfter";
    this.milliseconds = milliseconds;
  }
}

/** Throw it, and the job is not tried again. */
export class Fail extends Error {
  name = "Fail";
}

/** Runs handlers: each is called with its payload and a context, and returns the result. */
export class Worker {
  #running = new Map();
  #done = [];
  #lines = [];
  #sending = null;
  #stream = null;
  #id = "";
  #leaseUntil = 0;
  #leaseMs = 0;
  #isStopping = false;
  #over = false;

  constructor({ address, key, name = "node", queues = { default: 4 }, handlers }) {
    this.name = name;
    this.queues = queues;
    this.handlers = handlers;
    this.door = service("WorkerService", "mainspring/v1/worker.proto", address, key);
  }

  /** Work until stop() is called; then finish what runs, and return. */
  async run() {
    while (!this.#isStopping) {
      await this.#open();
      await Promise.race([this.#live(), this.#beat()]);
      this.#over = true;
      this.#stream?.cancel();
    }
    this.door.client.close();
  }

  stop() {
    this.#isStopping = true;
  }

  // --- The session ------------------------------------------------------------------------------

  async #open() {
    const declared = Object.entries(this.handlers).map(([kind, { options = {} }]) => ({
      kind,
      ...options,
    }));
    const asked = { name: this.name, pid: process.pid, queues: this.queues, handlers: declared };
    const sentAt = Date.now();
    const session = await this.#insist("OpenSession", asked);
    this.#id = session.worker_id;
    this.#leaseMs = session.lease_ms;
    this.#leaseUntil = sentAt + session.lease_ms;
    this.#over = false;
    console.log(`session ${this.#id}`);
  }

  /** Renew the lease; return when it is lost, and with it the right to all that runs. */
  async #beat() {
    while (!this.#over) {
      await pause(this.#leaseMs / 3);
      const sentAt = Date.now();
      try {
        const answer = await this.door.ask("Beat", { worker_id: this.#id });
        this.#leaseUntil = sentAt + answer.lease_ms;
        if (answer.drain) this.stop();
      } catch (error) {
        if (codeOf(error) === "session_lost" || Date.now() > this.#leaseUntil) {
          for (const running of this.#running.values()) running.abort("lost");
          this.#running.clear();
          this.#done = [];
          return;
        }
      }
    }
  }

  async #live() {
    const pulsing = setInterval(() => this.#pulse(), PULSE_MS);
    this.#listen();
    while (!this.#isStopping && !this.#over) await pause(50);
    this.#stream?.cancel();
    if (!this.#over) {
      await this.#insist("DrainSession", { worker_id: this.#id });
      while (this.#running.size || this.#done.length || this.#sending) await pause(20);
      await this.#insist("CloseSession", { worker_id: this.#id });
    }
    clearInterval(pulsing);
  }

  /** Ask until there is an answer: every call may be repeated. */
  async #insist(method, message) {
    for (;;) {
      try {
        return await this.door.ask(method, message);
      } catch (error) {
        if (!LOST.has(error.code)) throw error;
        await pause(PAUSE_MS);
      }
    }
  }

  // --- The stream of attempts -------------------------------------------------------------------

  #listen() {
    if (this.#isStopping || this.#over) return;
    const stream = this.door.client.StreamAttempts(this.door.metadata);
    this.#stream = stream;
    const names = [...this.#running.keys(), ...this.#done.map((report) => report.attempt_id)];
    stream.write({
      open: {
        worker_id: this.#id,
        kinds: Object.keys(this.handlers),
        holding: { attempt_ids: names },
      },
    });
    const free = { ...this.queues };
    for (const { queue } of this.#running.values()) free[queue] -= 1;
    stream.write({ credits: { queues: free } });
    stream.on("data", ({ attempts, nudge }) => {
      for (const attempt of attempts?.attempts ?? []) this.#begin(attempt);
      if (nudge) this.#pulse();
    });
    const again = () => {
      if (this.#stream !== stream) return;
      this.#stream = null;
      setTimeout(() => this.#listen(), PAUSE_MS);
    };
    stream.on("error", again);
    stream.on("end", again);
  }

  #begin(attempt) {
    const stopping = new AbortController();
    this.#running.set(attempt.attempt_id, {
      queue: attempt.queue,
      progress: null,
      abort: (why) => stopping.abort(why),
    });
    this.#run(attempt, stopping.signal).then((outcome) => {
      const running = this.#running.get(attempt.attempt_id);
      if (!running) return; // it is somebody else's by now
      this.#running.delete(attempt.attempt_id);
      this.#done.push({ attempt_id: attempt.attempt_id, ...outcome });
      this.#stream?.write({ credits: { queues: { [attempt.queue]: 1 } } });
      this.#send();
    });
  }

  async #run(attempt, signal) {
    const running = this.#running.get(attempt.attempt_id);
    let sequence = 0;
    const context = {
      jobId: attempt.job_id,
      attempt: attempt.attempt,
      effectKey: attempt.effect_key,
      signal,
      progress: (done, total, note = "") => {
        running.progress = { attempt_id: attempt.attempt_id, done, total, note };
      },
      log: (message, fields) => {
        sequence += 1;
        const fields_json = fields ? JSON.stringify(fields) : "";
        const { attempt_id } = attempt;
        this.#lines.push({ attempt_id, sequence, level: "info", message, fields_json });
      },
    };
    const timer = setTimeout(() => running.abort("timeout"), attempt.timeout_ms);
    try {
      const payload = JSON.parse(await this.#payload(attempt));
      const result = await this.handlers[attempt.kind].run(payload, context);
      return { succeeded: result === undefined ? {} : { result_json: JSON.stringify(result) } };
    } catch (error) {
      return outcomeOf(error, signal, attempt);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A large payload does not come along: it is read by its attempt. */
  async #payload(attempt) {
    if (!attempt.payload_is_away) return attempt.payload_json;
    const asked = { worker_id: this.#id, attempt_id: attempt.attempt_id };
    const pieces = [];
    for await (const { piece } of this.door.client.ReadPayload(asked, this.door.metadata)) {
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString();
  }

  // --- What is told -----------------------------------------------------------------------------

  /** Send what is done: all of it in one call, and no second call before the first is answered. */
  async #send() {
    if (this.#sending) return;
    this.#sending = (async () => {
      while (this.#done.length && !this.#over) {
        const reports = this.#done.slice(0, 1_000);
        try {
          await this.#sendLines();
          await this.door.ask("Report", { worker_id: this.#id, reports });
          this.#done = this.#done.slice(reports.length);
        } catch (error) {
          if (codeOf(error) === "session_lost") return;
          console.error(`reports wait: ${error.message}`);
          await pause(PAUSE_MS);
        }
      }
    })();
    await this.#sending;
    this.#sending = null;
  }

  async #sendLines() {
    while (this.#lines.length) {
      const lines = this.#lines.slice(0, 1_000);
      await this.door.ask("AppendLogs", { worker_id: this.#id, lines });
      this.#lines = this.#lines.slice(lines.length);
    }
  }

  async #pulse() {
    if (!this.#running.size) return;
    const progress = [];
    for (const running of this.#running.values()) {
      if (running.progress) progress.push(running.progress);
      running.progress = null;
    }
    const holding = { attempt_ids: [...this.#running.keys()] };
    try {
      await this.#sendLines();
      const news = await this.door.ask("Pulse", { worker_id: this.#id, holding, progress });
      for (const name of news.cancelling) this.#running.get(name)?.abort("cancelled");
      for (const name of news.lost) {
        this.#running.get(name)?.abort("lost");
        this.#running.delete(name);
      }
    } catch (error) {
      console.error(`no news: ${error.message}`);
    }
  }
}

function outcomeOf(error, signal, attempt) {
  if (signal.aborted && signal.reason === "cancelled") return { cancelled: { reason: "stopped" } };
  if (signal.aborted && signal.reason === "timeout") {
    return { timed_out: { timeout_ms: attempt.timeout_ms } };
  }
  const failed = {
    error: { type: error.name, message: error.message, traceback: error.stack ?? "" },
    permanent: error instanceof Fail,
  };
  if (error instanceof RetryAfter) failed.retry_after_ms = error.milliseconds;
  return { failed };
}
