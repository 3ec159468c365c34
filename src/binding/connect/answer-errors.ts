import type { JsonValue } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { bytesFromBase64 } from "../../protocol/base64.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError, errorCodeFromGrpc } from "../../protocol/errors.js";
import type { HttpAnswer } from "../../protocol/fetch.js";
import { grpcStatusNames } from "../../protocol/grpc-status.js";
import { errorFromHttpStatus, parseOrNothing, readReply, withAnswerHeaders } from "../fetch/answer.js";
import type { UnreadAnswer } from "../fetch/call.js";
import { errorFromStatusBytes } from "../grpc/details.js";

// The client side of Connect and gRPC-Web errors: the reason in the details decides, else the status code.

/** Reads the error of a response that failed as a whole. */
export async function errorFromAnswer(answer: UnreadAnswer, maxBytes: number): Promise<A2AError> {
  const { headers } = answer.response;
  const text = await readReply(answer, maxBytes);
  if (headers.has(statusHeader)) return errorFromTrailers(headers) ?? errorFromHttpStatus(answer);
  const json = parseOrNothing(text);
  return withAnswerHeaders(errorFromJson(json) ?? errorFromHttpStatus(answer), answer.response.headers);
}

/** Reads the end of a Connect stream. Returns `undefined` if it carries no error. */
export function errorFromEnd(bytes: Uint8Array): A2AError | undefined {
  const json = parseOrNothing(new TextDecoder().decode(bytes));
  if (!isJsonObject(json))
    return new A2AError("invalidAgentResponse", "the end of the agent's stream is not a JSON object");
  const { error, metadata } = json;
  if (error === undefined || error === null) return undefined;
  const headers = new Headers();
  for (const [name, values] of Object.entries(isJsonObject(metadata) ? metadata : {})) {
    for (const value of Array.isArray(values) ? values : []) append(headers, name, String(value));
  }
  return withAnswerHeaders(errorFromJson(error) ?? new A2AError("internalError", readMessage(undefined)), headers);
}

const statusHeader = "grpc-status";

/** Reads the trailers of a gRPC-Web stream. Returns `undefined` if they carry no error. */
export function errorFromTrailerBytes(bytes: Uint8Array): A2AError | undefined {
  const headers = new Headers();
  for (const line of new TextDecoder().decode(bytes).split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) append(headers, line.slice(0, colon), line.slice(colon + 1));
  }
  return errorFromTrailers(headers);
}

/** Reads trailers, also those sent as headers of a response without a body. Returns `undefined` for status 0. */
export function errorFromTrailers(trailers: HttpAnswer["headers"]): A2AError | undefined {
  const status = trailers.get(statusHeader);
  if (status === "0") return undefined;
  if (status === null) return new A2AError("invalidAgentResponse", "the end of the agent's answer names no status");
  const details = bytesFromBase64(trailers.get("grpc-status-details-bin") ?? "") ?? new Uint8Array(0);
  const message = readMessage(percentDecode(trailers.get("grpc-message") ?? ""));
  return withAnswerHeaders(
    errorFromStatusBytes(details, message, errorCodeFromGrpc(Number.parseInt(status, 10))),
    trailers,
  );
}

/** Reads a Connect error object. Returns `undefined` if the value is not one. */
function errorFromJson(json: JsonValue | undefined): A2AError | undefined {
  if (!isJsonObject(json)) return undefined;
  const { code, message, details } = json;
  const status = grpcStatusNames.findIndex((name) => toConnectName(name) === code);
  return status < 0
    ? undefined
    : errorFromStatusBytes(encodeDetails(details), readMessage(message), errorCodeFromGrpc(status));
}

/** Connect's name of a gRPC status: lower case, and `canceled` with one l. */
function toConnectName(status: string): string {
  return status === "CANCELLED" ? "canceled" : status.toLowerCase();
}

/**
 * Encodes a `google.rpc.Status` that has only the details of a Connect error, each as a `google.protobuf.Any` in field
 * 3.
 */
function encodeDetails(details: JsonValue | undefined): Uint8Array {
  const status = new BinaryWriter();
  const field = (number: number): BinaryWriter => status.tag(number, WireType.LengthDelimited);
  for (const detail of Array.isArray(details) ? details : []) {
    const { type, value } = isJsonObject(detail) ? detail : {};
    const bytes = typeof value === "string" ? bytesFromBase64(value) : undefined;
    if (typeof type !== "string" || bytes === undefined) continue;
    field(3).fork();
    field(1).string(`type.googleapis.com/${type}`);
    field(2).bytes(bytes);
    status.join();
  }
  return status.finish();
}

function append(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name.trim(), value.trim());
  } catch {
    // Skip names and values that are invalid in a header.
  }
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readMessage(message: JsonValue | undefined): string {
  return typeof message === "string" && message !== "" ? message : "the agent answered with an error";
}
