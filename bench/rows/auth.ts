import { type Server, startServer } from "../child.ts";
import { type CpuProbeOptions, cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Effort, type Row, scaleCount } from "../row.ts";
import { createTokens } from "../tokens.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

/** What tokens cost a call: one that the server knows, and a new one each time. */
export function authRows(effort: Effort): readonly Row[] {
  const size = { warmUp: scaleCount(20_000, effort, 1_000), count: scaleCount(6_000, effort) };
  const what = "CPU time of the server per JSON-RPC message, 16 in flight, each with a token of ES256";
  return [
    {
      name: "JSON-RPC message with a token that is known",
      unit: "µs",
      what: `${what}, the same one. Floor: the same call without authentication`,
      budgets: [{ of: "floor", atMost: 1.15 }],
      start: { floor: () => cpuProbe("ours", withoutToken, size), ours: () => withTokens("auth", size, () => 0) },
    },
    {
      name: "JSON-RPC message with a new token",
      unit: "µs",
      what: `${what}, a new one each time. Floor: \`authenticate\` that verifies it with jose alone`,
      // A call and 1.25 times the verification: about as much as the call costs.
      budgets: [{ of: "floor", atMost: 1.13 }],
      start: { floor: () => withTokens("bare", size, (n) => n), ours: () => withTokens("auth", size, (n) => n) },
    },
  ];
}

function withTokens(mode: "auth" | "bare", size: CpuProbeOptions, of: (n: number) => number) {
  const { key, token } = createTokens();
  const tokens = new Map<number, string>();
  const tokenOf = (n: number): string => {
    const text = tokens.get(of(n)) ?? token(of(n));
    if (of(n) === 0) tokens.set(0, text);
    return text;
  };
  const work = ({ http }: Server): Work => calls(http, (n) => `authorization: Bearer ${tokenOf(n)}\r\n`);
  return cpuProbe(() => startServer("ours-jwt.ts", [mode, key]), work, size);
}

function withoutToken({ http }: Server): Work {
  return calls(http, () => "");
}

function calls(port: number, headers: (n: number) => string): Work {
  const call = { ...jsonRpcCall("SendMessage", (n) => sendParams("message", n)), headers };
  const check = (body: string, n: number) => assertReply(jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port, call, check });
}
