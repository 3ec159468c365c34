import { type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { Operation } from "../../src/protocol/operations.js";
import { httpAdapter } from "./http-agent.js";
import type { FaultyRequest } from "./spoiled-request.js";

/** A request of HTTP+JSON in its wire form. */
export interface HttpForm {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Path that the error must name. */
  readonly names: string | undefined;
}

interface Fault {
  readonly faultyRequest: FaultyRequest;
  readonly validRequest: JsonObject;
}

/** Puts a valid or invalid request into path, query and body. `undefined` if it has no form there. */
export function httpFormOf(operation: Operation, request: JsonObject, fault?: Fault): HttpForm | undefined {
  const route = httpAdapter.routes.find((each) => each.operation === operation);
  if (route === undefined) throw new TypeError(`no route for ${operation.name}`);
  const members: JsonObject = { ...request };
  const path: string[] = [];
  for (const segment of route.segments) {
    if ("literal" in segment) {
      path.push(segment.literal);
      continue;
    }
    const { field } = segment;
    const value = members[field];
    const isText = typeof value === "string" && value !== "";
    // A value that is not text cannot be in the path, but can be in the body as well.
    if (!isText && (!route.hasBody || value === undefined || value === null || value === "")) return undefined;
    path.push(percentEncode(isText ? value : String(fault?.validRequest[field])));
    if (isText) delete members[field];
  }
  const target = `/http-json/${path.join("/")}${route.suffix}`;
  const isInPath = fault !== undefined && !(fault.faultyRequest.member in members);
  const names = fault === undefined ? undefined : namesOf(fault.faultyRequest, route.hasBody && !isInPath);
  const headers = { Accept: "application/json", ...(route.hasBody && { "Content-Type": "application/json" }) };
  if (route.hasBody) return { method: route.verb, target, headers, body: JSON.stringify(members), names };
  const query = queryOf(members, fault?.faultyRequest.member);
  if (query === undefined) return undefined;
  return { method: route.verb, target: query === "" ? target : `${target}?${query}`, headers, body: undefined, names };
}

// In a path or a query everything is text: numbers and booleans are valid where text is, and an empty list is absent.
function namesOf({ names, fault, field }: FaultyRequest, isBody: boolean): string | undefined {
  if (isBody) return names;
  const isText = field.scalar === ScalarType.STRING;
  if (fault === "is of kind array" || fault === "with half a surrogate pair") return undefined;
  return isText && fault.startsWith("is of kind") ? undefined : names;
}

function queryOf(request: JsonObject, faultyMember: string | undefined): string | undefined {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(request)) {
    for (const entry of Array.isArray(value) ? value : [value]) {
      if (isObject(entry) && name === faultyMember) return undefined;
      if (entry !== null && !isObject(entry)) pairs.push(`${percentEncode(name)}=${percentEncode(String(entry))}`);
    }
  }
  return pairs.join("&");
}

function isObject(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
}

// Half a surrogate pair has no UTF-8 form; it is written as the three bytes it would have.
function percentEncode(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "\ue000")).replaceAll("%EE%80%80", "%ED%A0%80");
}
