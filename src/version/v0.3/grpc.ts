import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type A2AError, type ErrorCode, invalidParams } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { GrpcAdapter } from "../codec.js";
import { foreignNamesIn } from "../foreign-names.js";
import type { VersionOptions } from "../options.js";
import { callV03 } from "./call.js";
import { findErrorByClass, findErrorClass, isUnimplemented } from "./errors.js";
import { eventEncoder, readEvent, writeEvent } from "./proto/messages.js";
import { A2AService, type WireStreamResponse } from "./proto/model.js";
import { findReply, findRequest, finishReply, requestReading, rpcs, violationsIn } from "./proto/operations.js";
import { Peers } from "./proto/peers.js";
import { serveV03 } from "./serve.js";
import { closingReader, closingWriter } from "./streams.js";

const encodeEvent = eventEncoder(writeEvent, true);

/** The adapter of 0.3 for gRPC, gRPC-Web and Connect. */
export function grpcAdapter({
  limits = defaultValidationLimits,
  fileBytes = "base64",
}: VersionOptions = {}): GrpcAdapter {
  const peers = new Peers({ fileBytes, references: true });
  return {
    version: "0.3",
    isImplied: true,
    declares: "0.3",
    extensionsName: "X-A2A-Extensions",
    service: A2AService,
    methods: rpcs,
    readRequest(operation, wire) {
      const reading = requestReading();
      const request = findRequest(operation).read(wire, reading);
      const violations = violationsIn(operation, request, { limits, violations: reading.violations, isRead: false });
      if (violations.length > 0) throw invalidParams(...violations);
      peers.note(request, reading);
      return request;
    },
    foreignNamesIn: (operation, json) => foreignNamesIn("0.3 HTTP+JSON", operation.name, json),
    writeRequest: (operation, request) => findRequest(operation).write(request, peers.formFor(request)),
    readReply(operation, wire, request) {
      const reply = peers.readReply(request, (reading) => findReply(operation).read(wire, reading));
      finishReply(operation, reply, request);
      return reply;
    },
    writeReply: (operation, reply, request) => findReply(operation).write(reply, peers.formFor(request)),
    writeStream(operation, request) {
      const form = peers.formFor(request);
      return closingWriter<AnyMessage>(operation, request, (item, final) => encodeEvent(item, form.fileBytes, final));
    },
    readStream: (operation, request) =>
      closingReader<AnyMessage>(operation, request, (payload) => {
        const wire = payload as WireStreamResponse;
        const final = wire.payload.case === "statusUpdate" && wire.payload.value.final;
        return { response: peers.readReply(request, (reading) => readEvent(wire, reading)), final };
      }),
    findStatus: ({ code }) => (isUnimplemented(code) ? unimplementedStatus : undefined),
    readStatus,
    findPrefix,
    readPrefix,
    serve: serveV03,
    call: (transport) => callV03(peers.remember(transport)),
  };
}

const failedPreconditionStatus = 9;
const unimplementedStatus = 12;

function readStatus(status: number, { name, needs }: Operation): ErrorCode | undefined {
  if (status === unimplementedStatus) {
    return needs === "pushNotifications" ? "pushNotificationNotSupported" : "unsupportedOperation";
  }
  return status === failedPreconditionStatus && name === "cancelTask" ? "taskNotCancelable" : undefined;
}

// Peers that send no details put the error's class name before the message.
function findPrefix({ code }: A2AError): string {
  const name = findErrorClass(code);
  return findErrorByClass(name) === code ? `${name}: ` : "";
}

function readPrefix(text: string): Pick<A2AError, "code" | "message"> | undefined {
  const [, name = "", message = ""] = /^(\w+Error): ?(.*)$/s.exec(text) ?? [];
  const code = findErrorByClass(name);
  return code === undefined ? undefined : { code, message };
}
