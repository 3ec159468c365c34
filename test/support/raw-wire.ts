import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type A2AError, errorCodes, errorDomain, errorTable } from "../../src/protocol/errors.js";
import type { Operation } from "../../src/protocol/operations.js";
import type { Spoiled } from "./spoiled-request.js";

/** What a peer was told, read as a stranger would read it. */
export interface RawOutcome {
  /** `undefined`: the call succeeded. */
  readonly error: A2AError | undefined;
  /** Everything that came over the wire, as text. */
  readonly told: string;
}

/** A spoilt request as it goes over one wire. */
export interface SpoiltCall {
  /** Path that the error has to name; not every wire can say every fault. */
  readonly names: string | undefined;
  send(): Promise<RawOutcome>;
}

/** One connection to an agent, spoken to by hand: whatever is not well-formed in an answer fails the test. */
export interface RawWire extends Disposable {
  call(operation: Operation, request: JsonObject): Promise<RawOutcome>;
  /** `undefined`: the fault cannot be said over this wire. */
  spoilt(operation: Operation, spoiled: Spoiled): SpoiltCall | undefined;
}

const traces = [
  /\n\s+at /,
  /node_modules|node:internal|\/(src|dist|gen)\//,
  /\.[jt]s\b/,
  /\b(Type|Range|Syntax|Reference)Error\b/,
  /is not a function|Cannot read|Maximum call stack/,
];

/** Fails when a peer is told where in the code something went wrong. */
export function expectNoTrace(told: string): void {
  for (const pattern of traces) expect(told).not.toMatch(pattern);
}

/** Fails when a peer is told what is nobody else's business: a stack trace, a file, the words of a library. */
export function expectNoInternals(told: string): void {
  expectNoTrace(told);
  expect(told).not.toMatch(/cannot (encode|decode)|illegal tag|premature EOF|recursion|circular|unexpected token/i);
}

/** Fails unless an error is one that a caller can be at fault for, and says so in public words. */
export function expectCallersFault({ error, told }: RawOutcome): void {
  if (error !== undefined)
    expect([error.code, errorTable[error.code].http]).toEqual([error.code, expect.toSatisfy(isCallers)]);
  expectNoInternals(told);
}

const isCallers = (status: number): boolean => status >= 400 && status < 500;

/** Holds the typed details of an error, in JSON, against their form (spec 9.5, 11.6). */
export function expectDetails(details: JsonValue | undefined): void {
  expect(details).toEqual(expect.any(Array));
  const [info, ...others] = details as JsonObject[];
  const reason = expect.toBeOneOf(errorCodes.map((code) => errorTable[code].reason));
  expect(info).toMatchObject({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: errorDomain });
  for (const detail of others)
    expect(detail["@type"]).toMatch(/^type\.googleapis\.com\/google\.rpc\.(BadRequest|RetryInfo)$/);
}
