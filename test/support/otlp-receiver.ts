import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly service: string;
  /** The name of the instrumentation. */
  readonly scope: string;
  readonly scopeVersion: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `""` for a root. */
  readonly parentId: string;
  readonly name: string;
  /** `INTERNAL`, `SERVER`, `CLIENT`, … */
  readonly kind: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isFailed: boolean;
}

export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Names of the metrics received. */
  readonly metrics: ReadonlySet<string>;
}

/** Receives OTLP over HTTP in protobuf, as a collector does. */
export async function receiveOtlp(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const metrics = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    if (request.url === "/v1/traces") spans.push(...readTraces(bytes));
    if (request.url === "/v1/metrics") for (const name of readMetricNames(bytes)) metrics.add(name);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metrics,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The fields of a message by their numbers, without a schema. */
type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | bigint)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    fields.set(number, [...(fields.get(number) ?? []), readValue(reader, type)]);
  }
  return fields;
}

function readValue(reader: BinaryReader, type: WireType): Uint8Array | bigint {
  if (type === WireType.LengthDelimited) return reader.bytes();
  if (type === WireType.Varint) return BigInt(reader.uint64());
  if (type === WireType.Bit64) return BigInt(reader.fixed64());
  return BigInt(reader.fixed32());
}

const all = (fields: Fields, number: number): readonly Fields[] =>
  (fields.get(number) ?? []).flatMap((value) => (value instanceof Uint8Array ? [fieldsOf(value)] : []));
const bytesAt = (fields: Fields, number: number): Uint8Array => {
  const value = fields.get(number)?.at(-1);
  return value instanceof Uint8Array ? value : new Uint8Array();
};
const textAt = (fields: Fields, number: number): string => new TextDecoder().decode(bytesAt(fields, number));
const hexAt = (fields: Fields, number: number): string => Buffer.from(bytesAt(fields, number)).toString("hex");
const numberAt = (fields: Fields, number: number): number => Number(fields.get(number)?.at(-1) ?? 0);

const kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

function attributesOf(fields: Fields, number: number): Readonly<Record<string, unknown>> {
  return Object.fromEntries(all(fields, number).map((pair) => [textAt(pair, 1), anyValue(fieldsOf(bytesAt(pair, 2)))]));
}

// Strings, booleans, and whole numbers; others are not looked at.
function anyValue(value: Fields): unknown {
  if (value.has(1)) return textAt(value, 1);
  if (value.has(2)) return numberAt(value, 2) === 1;
  return value.has(3) ? numberAt(value, 3) : undefined;
}

function readTraces(bytes: Uint8Array): ReceivedSpan[] {
  return all(fieldsOf(bytes), 1).flatMap((resourceSpans) => {
    const [resource = new Map()] = all(resourceSpans, 1);
    const service = String(attributesOf(resource, 1)["service.name"]);
    return all(resourceSpans, 2).flatMap((scopeSpans) => {
      const [scope = new Map()] = all(scopeSpans, 1);
      return all(scopeSpans, 2).map((span) =>
        spanOf(span, { service, scope: textAt(scope, 1), scopeVersion: textAt(scope, 2) }),
      );
    });
  });
}

function spanOf(span: Fields, from: Pick<ReceivedSpan, "service" | "scope" | "scopeVersion">): ReceivedSpan {
  const [status = new Map()] = all(span, 15);
  return {
    ...from,
    traceId: hexAt(span, 1),
    spanId: hexAt(span, 2),
    parentId: hexAt(span, 4),
    name: textAt(span, 5),
    kind: kinds[numberAt(span, 6)] ?? "",
    attributes: attributesOf(span, 9),
    events: all(span, 11).map((event) => textAt(event, 2)),
    links: all(span, 13).map((link) => ({ traceId: hexAt(link, 1), spanId: hexAt(link, 2) })),
    isFailed: numberAt(status, 3) === 2,
  };
}

function readMetricNames(bytes: Uint8Array): string[] {
  return all(fieldsOf(bytes), 1).flatMap((resource) =>
    all(resource, 2).flatMap((scope) => all(scope, 2).map((metric) => textAt(metric, 1))),
  );
}
