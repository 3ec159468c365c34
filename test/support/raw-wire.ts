import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type A2AError, errorCodes, errorDomain, errorTable } from "../../src/protocol/errors.js";
import type { Operation } from "../../src/protocol/operations.js";
import type { FaultyRequest } from "./spoiled-request.js";

/** What a peer received, as an independent reader parses it. */
export interface RawOutcome {
  /** `undefined`: the call succeeded. */
  readonly error: A2AError | undefined;
  /** The text of everything that came over the wire. */
  readonly text: string;
}

/** A spoiled request in the form of one wire. */
export interface FaultyCall {
  /** Path that the error must name; some wires cannot express every fault. */
  readonly names: string | undefined;
  send(): Promise<RawOutcome>;
}

/** A handmade connection to an agent. Any malformed answer fails the test. */
export interface RawWire extends Disposable {
  call(operation: Operation, request: JsonObject): Promise<RawOutcome>;
  /** `undefined` if the wire cannot express the fault. */
  withFault(operation: Operation, spoiled: FaultyRequest): FaultyCall | undefined;
}

const traces = [
  /\n\s+at /,
  /node_modules|node:internal|\/(src|dist|gen)\//,
  /\.[jt]s\b/,
  /\b(Type|Range|Syntax|Reference)Error\b/,
  /is not a function|Cannot read|Maximum call stack/,
];

/** Fails when an answer shows where in the code something went wrong. */
export function expectNoTrace(text: string): void {
  for (const pattern of traces) expect(text).not.toMatch(pattern);
}

/** Fails when an answer leaks internals: a stack trace, a file name, or a library's message. */
export function expectNoInternals(text: string): void {
  expectNoTrace(text);
  expect(text).not.toMatch(/cannot (encode|decode)|illegal tag|premature EOF|recursion|circular|unexpected token/i);
}

/** Fails unless the error blames the caller, in public terms. */
export function expectCallersFault({ error, text }: RawOutcome): void {
  if (error !== undefined)
    expect([error.code, errorTable[error.code].http]).toEqual([error.code, expect.toSatisfy(isClientError)]);
  expectNoInternals(text);
}

const isClientError = (status: number): boolean => status >= 400 && status < 500;

/** Checks the form of an error's typed details in JSON (spec 9.5, 11.6). */
export function expectDetails(details: JsonValue | undefined): void {
  expect(details).toEqual(expect.any(Array));
  const [info, ...moreDetails] = details as JsonObject[];
  const reason = expect.toBeOneOf(errorCodes.map((code) => errorTable[code].reason));
  expect(info).toMatchObject({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: errorDomain });
  for (const detail of moreDetails)
    expect(detail["@type"]).toMatch(/^type\.googleapis\.com\/google\.rpc\.(BadRequest|RetryInfo)$/);
}
