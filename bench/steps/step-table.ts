/** A step of a call, and the code that does it. */
export interface Step {
  readonly name: string;
  /**
   * What `file:function` begins with, below `src/`; the longest match over all steps wins. `bench/` is the agent,
   * `@bufbuild/` the library of messages.
   */
  readonly code: readonly string[];
}

/** The steps of a unary call in the order in which they happen. What is left is Node's own, and garbage collection. */
export const steps: readonly Step[] = [
  {
    name: "receive",
    code: [
      "binding/listen/",
      "binding/grpc/",
      "binding/http/node-listener",
      "binding/http/node-request",
      "binding/http/conflicting-host",
    ],
  },
  { name: "route", code: ["server/", "card/", "binding/http/mount", "binding/http/cors", "binding/http-json/router"] },
  { name: "read the head", code: ["binding/", "version/detect", "protocol/service-parameters"] },
  { name: "authenticate", code: ["auth/", "server/authentication", "binding/one-credential", "protocol/context"] },
  {
    name: "admit",
    code: [
      "rates/",
      "server/admission",
      "server/byte-ledger",
      "server/unsent-budget",
      "server/rate-limiter",
      "server/overload/",
      "binding/server-call:admit",
      "binding/server-call:#enter",
    ],
  },
  {
    name: "read the body",
    code: ["binding/http/request-body", "binding/http/media-type", "protocol/codec/value-count"],
  },
  { name: "parse", code: ["binding/http/call:parseJson", "binding/json-rpc/envelope"] },
  { name: "decode and validate", code: ["version/", "protocol/codec/", "protocol/check/", "@bufbuild/"] },
  { name: "start a turn", code: ["core/", "protocol/"] },
  { name: "run the agent", code: ["core/turn/", "bench/"] },
  { name: "record", code: ["store/", "core/conversation/", "core/task/", "core/store-"] },
  {
    name: "encode",
    code: [
      "binding/json-rpc/server:resultText",
      "protocol/codec/json/writer",
      "protocol/codec/binary/writer",
      "protocol/codec/reply-values",
    ],
  },
  { name: "write", code: ["binding/http/node-reply", "binding/http/reply-writer", "binding/grpc/call:#send"] },
  { name: "clock and timers", code: ["protocol/async/clock", "protocol/async/system-clock", "binding/deadline"] },
];

/** The step of a function: `binding/http/call:parseJson`. */
export function findStep(place: string): string | undefined {
  let longest = "";
  let name: string | undefined;
  for (const step of steps) {
    for (const start of step.code) {
      if (start.length > longest.length && place.startsWith(start)) [longest, name] = [start, step.name];
    }
  }
  return name;
}
