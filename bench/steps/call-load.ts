import type { Ready } from "../control.ts";
import type { Work } from "../cpu-probe.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { createHttpLoader } from "../load/http.ts";
import { httpJsonCall, jsonRpcCall, sendParams } from "../wire.ts";

export const callKinds = ["jsonrpc", "http-json", "grpc"] as const;
export type CallKind = (typeof callKinds)[number];

/** Load of one kind of unary call, 16 in flight. */
export async function openLoad(kind: CallKind, script: string, { http, grpc }: Ready): Promise<Work> {
  if (kind === "grpc") {
    const loader = await createGrpcLoader(grpc);
    return { run: (count) => loader.run(script, count, () => {}), [Symbol.dispose]: () => loader[Symbol.dispose]() };
  }
  const verb = script as "message" | "task";
  const call =
    kind === "jsonrpc"
      ? jsonRpcCall("SendMessage", (n) => sendParams(verb, n))
      : httpJsonCall("message:send", (n) => sendParams(verb, n));
  return createHttpLoader({ port: http, call, check: () => {} });
}
