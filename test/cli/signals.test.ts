import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { Client, serve, working } from "trivium";
import { describe, it } from "vitest";
import { type EndSignal, endSignals } from "../../src/server/end-signals.js";
import { startTrivium } from "../support/command.js";
import { serveHttp } from "../support/http-agent.js";
import { owned } from "../support/owned.js";
import { type Project, project } from "../support/served-project.js";

// What the signals do that ask a process to end: the first one ends it in order, any second one at once.

const card = { name: "Endless", description: "d", version: "1" };
/** The options of an agent whose turns do not end, and what happens when its server begins to close. */
const endless = (onClosing = ""): string => `{
  card: ${JSON.stringify(card)},
  logger: {
    debug() {},
    info(_, message) { if (message === "closing") { console.log("closing"); ${onClosing} } },
    warn() {},
    error() {},
  },
  async *agent() {
    yield working();
    await new Promise(() => {});
  },
}`;

/** A program that serves, or several of them in one. */
const program = (options: string, more = ""): string => `
import { serve, working } from "trivium";
${more}
const server = await serve({ ...${options}, port: 0, handleSignals: true });
console.log(server.url);
`;

async function startProgram({ folder, write }: Project, text: string): Promise<ChildProcess> {
  await write("server.mjs", text);
  return owned(spawn(process.execPath, ["server.mjs"], { cwd: folder }));
}

interface Running {
  readonly child: ChildProcess;
  /** Resolves when it has printed what fits, with that. */
  printed(pattern: RegExp): Promise<string>;
  end: Promise<unknown[]>;
}

function follow(child: ChildProcess): Running {
  let output = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (piece) => {
      output += piece;
      for (const each of listeners) each();
    });
  }
  const end = once(child, "close");
  const printed = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const [found] = pattern.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      };
      listeners.add(look);
      void end.then(() => reject(new Error(`it has ended: ${output}`)));
      look();
    });
  return { child, printed, end };
}

/** Holds a server open with a turn that does not end, and sends it its first signal. */
async function closing(child: ChildProcess, first: EndSignal): Promise<Running> {
  const running = follow(child);
  const url = await running.printed(/(?<=^|\n| at )http:\/\/\S+/);
  const client = await Client.connect(url, { retry: false });
  const events = client.stream("go")[Symbol.asyncIterator]();
  await events.next();
  void events.next().catch(() => {});
  child.kill(first);
  await running.printed(/closing/);
  return running;
}

const servers: Readonly<Record<string, (own: Project, upstream: string) => Promise<ChildProcess> | ChildProcess>> = {
  "trivium serve": async ({ folder, write }) => {
    await write("agent.mjs", `import { working } from "trivium";\nexport default ${endless()};\n`);
    return startTrivium(["serve", "agent.mjs", "--port", "0"], {}, folder);
  },
  "trivium gateway": (_, upstream) => startTrivium(["gateway", upstream, "--port", "0"]),
  "a program with handleSignals": (own) => startProgram(own, program(endless())),
  "a program that has two servers": (own) =>
    startProgram(own, program(endless(), `await serve({ ...${endless()}, port: 0, handleSignals: true });`)),
  "a program whose agent computes by then": (own) =>
    startProgram(own, program(endless("setImmediate(() => { for (;;); });"))),
};

const pairs = [
  ["SIGTERM", "SIGINT"],
  ["SIGINT", "SIGTERM"],
  ["SIGHUP", "SIGTERM"],
  ["SIGINT", "SIGINT"],
] as const;

describe.concurrent.for(Object.entries(servers))("a second signal to %s", ([, start]) => {
  it.for(pairs)("a second signal to a command ends it at once: %s, then %s", async ([first, second], { expect }) => {
    await using own = await project();
    await using upstream = await serve({
      ...{ card, port: 0, logger: false, drainMs: 0, limits: { graceMs: 0 } },
      async *agent({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const { child, end } = await closing(await start(own, upstream.url), first);
    child.kill(second);
    expect(await end).toEqual([null, second]);
  });
});

describe.concurrent("a signal", () => {
  it("a second signal ends a program at once which listens for the signal itself", async ({ expect }) => {
    await using own = await project();
    const text = program(endless(), 'process.on("SIGINT", () => console.log("heard"));');
    const { child, end, printed } = await closing(await startProgram(own, text), "SIGTERM");
    child.kill("SIGINT");
    await printed(/heard/);
    expect(await end).toEqual([endSignals.SIGINT, null]);
  });

  it.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "a signal closes each server of a program: %s",
    async (signal, { expect }) => {
      await using own = await project();
      // The second server takes longer.
      const options = `{ card: ${JSON.stringify(card)}, agent: async () => {}, logger: false, port: 0, handleSignals: true }`;
      const text = `
import { serve } from "trivium";
await serve(${options});
const slow = await serve({ ...${options}, lameDuckMs: 300 });
process.once("exit", async () => console.log("closed", performance.now() - begin >= 300));
let begin;
process.once("${signal}", () => { begin = performance.now(); });
console.log(slow.url);
`;
      const { child, end, printed } = follow(await startProgram(own, text));
      await printed(/http/);
      child.kill(signal);
      expect(await printed(/closed \w+/)).toBe("closed true");
      expect(await end).toEqual([0, null]);
    },
  );

  it("a server that is closed leaves signals alone", async ({ expect }) => {
    await using own = await project();
    const text = program(
      `{ card: ${JSON.stringify(card)}, agent: async () => {}, logger: false }`,
      'const count = () => ["SIGTERM", "SIGINT", "SIGHUP"].map((name) => process.listenerCount(name)).join();',
    );
    const { end, printed } = follow(
      await startProgram(own, `${text}\nconst open = count(); await server.close(); console.log(open, count());`),
    );
    expect(await printed(/\d,\d,\d.*/)).toBe("1,1,1 0,0,0");
    expect(await end).toEqual([0, null]);
  });

  it.for(pairs)("a second signal ends trivium send at once: %s, then %s", async ([first, second], { expect }) => {
    // An agent that begins a task, and leaves its caller without another word.
    let onCancel = (): void => {};
    const cancel = new Promise<void>((resolve) => {
      onCancel = resolve;
    });
    await using silent = await serveHttp(
      createServer((request, response) => {
        const origin = `http://${request.headers.host}`;
        if (request.url?.includes("agent-card")) {
          const supportedInterfaces = [{ url: origin, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
          const capabilities = { streaming: true };
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify({ ...card, supportedInterfaces, capabilities, skills: [] }));
        } else if (request.url?.includes(":cancel")) onCancel();
        else {
          const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" }, artifacts: [] };
          const text = { artifactId: "a", parts: [{ text: "begun" }] };
          const update = { artifactUpdate: { taskId: "t", contextId: "c", artifact: text } };
          response.setHeader("content-type", "text/event-stream");
          response.write(`data: ${JSON.stringify({ task })}\n\ndata: ${JSON.stringify(update)}\n\n`);
        }
      }),
    );
    const { child, end, printed } = follow(startTrivium(["send", silent.url, "go"]));
    await printed(/begun/);
    child.kill(first);
    await cancel;
    child.kill(second);
    expect(await end).toEqual([null, second]);
  });

  it("a signal ends trivium doctor at once", async ({ expect }) => {
    let onRequest = (): void => {};
    const request = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    await using silent = await serveHttp(createServer(() => onRequest()));
    const { child, end } = follow(startTrivium(["doctor", silent.url, "--timeout", "60000"]));
    await request;
    child.kill("SIGINT");
    expect(await end).toEqual([null, "SIGINT"]);
  });
});
