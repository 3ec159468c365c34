import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operations } from "../../protocol/operations.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import { violationText } from "../../protocol/violations.js";
import type { HttpJsonAdapter } from "../codec.js";
import { unreadableEvent } from "../codec-errors.js";
import type { VersionOptions } from "../options.js";
import { queryFromJson } from "../query.js";
import { callV03 } from "./call.js";
import { errorFromEvent, errorFromHttp, httpBodyFromError, refusesBody } from "./errors.js";
import { snakeAdapter } from "./http-json-snake.js";
import { protoJsonCodecs, queryJson } from "./proto/json.js";
import { eventEncoder, readEvent, writeEvent } from "./proto/messages.js";
import { StreamResponseSchema } from "./proto/model.js";
import { Peers } from "./proto/peers.js";
import { routes } from "./proto/routes.js";
import { serveV03 } from "./serve.js";
import { closingReader, closingWriter, type ReadEvent } from "./streams.js";

const encodeEvent = eventEncoder(
  (response, form, final) => JSON.stringify(writeJson(StreamResponseSchema, writeEvent(response, form, final))),
  false,
);

/** The HTTP+JSON adapters of 0.3: the schema's form, and that of one SDK. */
export function httpJsonAdapters(options: VersionOptions = {}): readonly [HttpJsonAdapter, ...HttpJsonAdapter[]] {
  return [schemaAdapter(options), snakeAdapter(options)];
}

function schemaAdapter({ limits = defaultValidationLimits, fileBytes = "base64" }: VersionOptions): HttpJsonAdapter {
  const peers = new Peers({ fileBytes, references: false });
  const bareRequests = new WeakSet<AnyMessage>();
  return {
    version: "0.3",
    isImplied: true,
    declares: "0.3",
    extensionsName: "X-A2A-Extensions",
    mediaType: "application/json",
    failureName: "error",
    routes,
    codec: protoJsonCodecs({ limits, peers, bareRequests }),
    readQuery: queryJson,
    writeQuery: (_, request) => queryFromJson(request),
    writeStream(operation, request) {
      const form = peers.formFor(request);
      return closingWriter(operation, request, (item, final) => encodeEvent(item, form.fileBytes, final));
    },
    readStream: (operation, request) =>
      closingReader<JsonValue>(operation, request, (json) => readEventJson(json, peers, request)),
    writeError: httpBodyFromError,
    readError: errorFromHttp,
    serve: serveV03,
    call: (transport) => callV03(tryConfigBodies(peers.remember(transport), bareRequests)),
  };
}

function readEventJson(json: JsonValue, peers: Peers, request: AnyMessage | undefined): ReadEvent {
  const error = errorFromEvent(json);
  if (error !== undefined) throw error;
  const { message: wire, violations } = readJson(StreamResponseSchema, json, { lenient: true });
  const [violation] = violations;
  if (violation !== undefined) {
    throw unreadableEvent(violationText(violation));
  }
  const final = wire.payload.case === "statusUpdate" && wire.payload.value.final;
  return { response: peers.readReply(request, (reading) => readEvent(wire, reading)), final };
}

/**
 * Servers accept one of two bodies for a new push configuration and reject the other. This tries both, the last
 * accepted one first. Trying twice is safe, since a configuration replaces one with the same id.
 */
function tryConfigBodies(
  transport: Operations<CallOptions>,
  bareRequests: WeakSet<AnyMessage>,
): Operations<CallOptions> {
  let wantsBare = false;
  return {
    ...transport,
    async createTaskPushNotificationConfig(config, options) {
      const attempt = (isBare: boolean) => {
        const request = { ...config };
        if (isBare) bareRequests.add(request);
        return transport.createTaskPushNotificationConfig(request, options);
      };
      try {
        return await attempt(wantsBare);
      } catch (error) {
        if (!(error instanceof A2AError && refusesBody(error.code)) || config.id === "") throw error;
        const reply = await attempt(!wantsBare).catch(() => Promise.reject(error));
        wantsBare = !wantsBare;
        return reply;
      }
    },
  };
}
