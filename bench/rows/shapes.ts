import { startServer } from "../child.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Budget, type Effort, type Row, scaleCount } from "../row.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson } from "../wire.ts";

const names = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, 1]));

/**
 * Content of about a megabyte that costs most to read, each with what a byte of it may cost beside one of plain text.
 * `JSON.parse` alone costs two to three times as much as the whole call with a text, and ten times for an object of many
 * names, which it looks up among each other.
 */
const shapes: Readonly<Record<string, { readonly make: () => unknown; readonly atMost: number }>> = {
  "a text": { make: () => "x".repeat(1_000_000), atMost: 1 },
  "an object of many names": { make: () => names(90_000), atMost: 15 },
  rows: {
    make: () => Array.from({ length: 12_000 }, (_, id) => ({ id, name: `n${id}`, x: 1, y: 2, ok: true })),
    atMost: 5,
  },
  numbers: { make: () => Array(240_000).fill(1), atMost: 5 },
  texts: { make: () => Array.from({ length: 90_000 }, (_, n) => `text${n}`), atMost: 5 },
};

/** What a kilobyte of a large request costs by the shape of its content: nobody blocks a server with a small request. */
export function shapeRows(effort: Effort): readonly Row[] {
  return Object.entries(shapes).map(([shape, { make, atMost }]) => {
    const content = make();
    const kilobytes = Math.round(JSON.stringify(content).length / 1000);
    const budget: Budget = { of: "row", row: rowName("a text"), atMost };
    return {
      name: rowName(shape),
      unit: "µs",
      what: "CPU time of the server per kilobyte of a message's data, of which a request has about a thousand, until the caller has the reply",
      budgets: shape === "a text" ? [] : [budget],
      start: {
        ours: () =>
          cpuProbe(
            () => startServer("ours-guarded.ts"),
            (server) => sendOf(server, content),
            { warmUp: scaleCount(40, effort), count: scaleCount(40, effort), perUnit: kilobytes },
          ),
      },
    };
  });
}

function rowName(shape: string): string {
  return `kilobyte of a large request: ${shape}`;
}

function sendOf({ http: port }: { readonly http: number }, content: unknown): Work {
  const parts = [{ text: "message" }, { data: content }];
  const call = jsonRpcCall("SendMessage", (n) => ({ message: { messageId: `m-${n}`, role: "ROLE_USER", parts } }));
  const check = (body: string, n: number): void => assertReply(jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port, call: { ...call, headers: () => "authorization: Bearer owner\r\n" }, check }, 1);
}
