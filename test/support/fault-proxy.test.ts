import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { garbage, http1Bytes, httpAnswers } from "./fault-answers.js";
import { createFaultProxy, type FaultProxy } from "./fault-proxy.js";
import { cutAfter, type Ending, type Schedule } from "./fault-schedule.js";
import { leftOpen, listenersOn, openHandles } from "./leaks.js";
import { createVirtualClock } from "./virtual-clock.js";

const question = "0123456789";
const answer = "abcdefghij";

/** A server that reads ten bytes, sends ten, then ends. */
async function answering() {
  const requests: string[] = [];
  const ends: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const place = requests.push("") - 1;
    socket.on("data", (bytes) => {
      requests[place] += bytes.toString();
      if (requests[place]?.length === question.length) socket.end(answer);
    });
    socket.on("end", () => {
      ends[place] = "end";
      socket.end();
    });
    socket.on("error", () => {
      ends[place] = "reset";
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    requests,
    ends,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

interface Asked {
  readonly text: string;
  readonly pieces: number;
  readonly how: "end" | "reset" | "refused";
}

/** Makes one request over a new connection and reports how it ended. */
function ask(port: number): Promise<Asked> {
  return new Promise((resolve) => {
    let text = "";
    let pieces = 0;
    const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true }, () => socket.write(question));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      pieces += 1;
    });
    socket.on("end", () => resolve({ text, pieces, how: "end" }));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ text, pieces, how: error.code === "ECONNREFUSED" ? "refused" : "reset" }),
    );
  });
}

async function through(schedule: Schedule, run: (proxy: FaultProxy, target: Served) => Promise<void>): Promise<void> {
  const before = openHandles();
  {
    await using target = await answering();
    await using proxy = await createFaultProxy({ target, schedule });
    await run(proxy, target);
    await proxy.idle();
    expect(proxy.open).toBe(0);
  }
  expect(await leftOpen(before)).toEqual({});
}

type Served = Awaited<ReturnType<typeof answering>>;

describe("a fault proxy", () => {
  it("a fault proxy passes everything on when nothing is scheduled, and counts it", () =>
    through([], async (proxy, { requests }) => {
      expect(await ask(proxy.port)).toMatchObject({ text: answer, how: "end" });
      expect(requests).toEqual([question]);
      expect(proxy.record()).toEqual([{ request: 10, response: 10 }]);
      expect(proxy.connections).toBe(1);
    }));

  it("a fault proxy follows its schedule connection by connection, and repeats the last rule", () =>
    through([cutAfter("response", 3, "end"), { kind: "pass" }, { kind: "close" }], async (proxy) => {
      const texts: string[] = [];
      for (let count = 0; count < 4; count++) texts.push((await ask(proxy.port)).text);
      expect(texts).toEqual(["abc", answer, "", ""]);
      await proxy.setSchedule([]);
      expect(await ask(proxy.port)).toMatchObject({ text: answer });
    }));

  it("a fault proxy refuses until its rule is changed, at the same port", () => {
    const gate = Promise.withResolvers<void>();
    const schedule: Schedule = [{ kind: "refuse", until: () => gate.promise }, cutAfter("response", 1, "end")];
    return through(schedule, async (proxy) => {
      expect(await ask(proxy.port)).toMatchObject({ how: "refused" });
      gate.resolve();
      await expect.poll(() => ask(proxy.port)).toMatchObject({ text: "a" });
      await proxy.setSchedule([{ kind: "refuse" }]);
      expect(await ask(proxy.port)).toMatchObject({ how: "refused" });
      await proxy.setSchedule([]);
      expect(await ask(proxy.port)).toMatchObject({ text: answer });
      expect(proxy.record().at(-1)).toEqual({ request: 10, response: 10 });
    });
  });

  it.each([
    ["close", "end"],
    ["reset", "reset"],
  ] as const)("a fault proxy can %s at once", (kind, how) =>
    through([{ kind }], async (proxy, { requests }) => {
      expect(await ask(proxy.port)).toEqual({ text: "", pieces: 0, how });
      expect(requests).toEqual([]);
    }),
  );

  it("a fault proxy can hang: it receives and sends nothing", () =>
    through([{ kind: "hang" }], async (proxy, { requests }) => {
      const socket = connect(proxy.port, "127.0.0.1", () => socket.write(question));
      socket.on("data", () => expect.unreachable());
      await proxy.waitForBytes("request", question.length);
      expect(proxy.open).toBe(1);
      expect(requests).toEqual([]);
      socket.destroy();
    }));

  it.each([0, 1, 9, 10])("a fault proxy cuts an answer after %i bytes", (after) =>
    through([cutAfter("response", after, "end")], async (proxy, { requests }) => {
      expect(await ask(proxy.port)).toMatchObject({ text: answer.slice(0, after), how: "end" });
      expect(requests).toEqual([question]);
    }),
  );

  it("a fault proxy resets in the middle of an answer", () =>
    through([cutAfter("response", 3, "reset")], async (proxy) => {
      expect(await ask(proxy.port)).toMatchObject({ how: "reset" });
    }));

  it.each<[Ending, Asked["how"]]>([
    ["end", "end"],
    ["reset", "reset"],
  ])("a fault proxy cuts a request: the target receives a part, and the caller sees the %s", (how, outcome) =>
    through([cutAfter("request", 4, how)], async (proxy, { requests, ends }) => {
      expect(await ask(proxy.port)).toMatchObject({ text: "", how: outcome });
      await expect.poll(() => ends).toEqual([outcome]);
      // A reset may discard bytes that were not read yet.
      expect(question.slice(0, 4).startsWith(requests[0] ?? "")).toBe(true);
    }),
  );

  it("a fault proxy half-closes: the caller sees the end, and is heard on", () =>
    through([cutAfter("response", 0, "half")], async (proxy, { requests }) => {
      const socket = connect({ host: "127.0.0.1", port: proxy.port, allowHalfOpen: true });
      const ended = new Promise<void>((resolve) => socket.on("end", resolve).resume());
      socket.write(question);
      await ended;
      socket.end("more");
      await expect.poll(() => requests).toEqual([`${question}more`]);
    }));

  it("a fault proxy holds bytes back until an event, or the turn of a clock", () => {
    const clock = createVirtualClock();
    const until = () => new Promise<void>((resolve) => clock.after(1000, resolve));
    return through([{ kind: "flow", response: { hold: { after: 4, until } } }], async (proxy) => {
      const response = ask(proxy.port);
      await proxy.waitForBytes("response", 4);
      await expect.poll(() => clock.pending()).toHaveLength(1);
      expect(proxy.record()).toEqual([{ request: 10, response: 4 }]);
      await clock.advance(1000);
      expect(await response).toMatchObject({ text: answer });
    });
  });

  it("a fault proxy passes bytes one at a time, or in pieces that end at given offsets", async () => {
    await through(
      [{ kind: "flow", request: { pieces: { every: 1 } }, response: { pieces: { every: 1 } } }],
      async (proxy) => expect(await ask(proxy.port)).toMatchObject({ text: answer, pieces: 10 }),
    );
    await through([{ kind: "flow", response: { pieces: { at: [3, 7] } } }], async (proxy) =>
      expect(await ask(proxy.port)).toMatchObject({ text: answer, pieces: 3 }),
    );
  });

  it("a fault proxy answers with its own bytes", () =>
    through([{ kind: "raw", bytes: garbage(20) }], async (proxy, { requests }) => {
      expect(await ask(proxy.port)).toMatchObject({ text: Buffer.from(garbage(20)).toString("latin1"), how: "end" });
      await proxy.setSchedule([{ kind: "raw", bytes: http1Bytes, ending: "reset" }]);
      expect(await ask(proxy.port)).toMatchObject({ how: "reset" });
      expect(requests).toEqual([]);
    }));

  it.each(Object.entries(httpAnswers))("a fault proxy answers over HTTP: %s", (_, expected) =>
    through([{ kind: "answer", answer: expected }], async (proxy, { requests }) => {
      const response = await fetch(proxy.url("/any"), { headers: { connection: "close" } });
      expect(response.status).toBe(expected.status);
      expect(await response.text()).toBe("body" in expected ? expected.body : "");
      expect(Object.fromEntries(response.headers)).toMatchObject("headers" in expected ? expected.headers : {});
      expect(requests).toEqual([]);
    }),
  );
});

describe("the count of open connections", () => {
  it("the count of open connections sees a socket, a server, a timer and a listener that were left", async () => {
    const before = openHandles();
    const target = await answering();
    const socket = connect(target.port, "127.0.0.1");
    await new Promise((resolve) => socket.on("connect", resolve));
    const timers = [1, 2, 3].map(() => setTimeout(() => {}, 60_000));
    expect(await leftOpen(before, 50)).toMatchObject({
      TCPServerWrap: 1,
      TCPSocketWrap: 2,
      Timeout: expect.any(Number),
    });
    for (const timer of timers) clearTimeout(timer);
    socket.destroy();
    await target[Symbol.asyncDispose]();
    expect(await leftOpen(before)).toEqual({});
    const { signal } = new AbortController();
    signal.addEventListener("abort", () => {});
    expect(listenersOn(signal)).toBe(1);
  });
});
