import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
  isWrapperDesc,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../../../../gen/a2a/v1/a2a_pb.js";
import { file_google_rpc_error_details } from "../../../../gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "../../../../gen/google/rpc/status_pb.js";
import { file_lf_a2a_v1_a2a } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { file_trivium_store_v1_store } from "../../../../gen/trivium/store/v1/store_pb.js";
import { Output } from "../../../../src/protocol/codec/binary/output.js";
import { writeBinary, writeBuffer } from "../../../../src/protocol/codec/binary/writer.js";
import { dynamic } from "../../../../src/protocol/codec/outline/dynamic.js";
import { MessageSchema, PartSchema, StreamResponseSchema, TaskSchema } from "../../../../src/protocol/model.js";
import { tries } from "../../../support/tries.js";

const ourTypes = [
  file_lf_a2a_v1_a2a,
  file_a2a_v1_a2a,
  file_trivium_store_v1_store,
  file_google_rpc_status,
  file_google_rpc_error_details,
].flatMap(({ messages }) => messages);

/** Everything in Protocol Buffers that our messages do not use. */
const oddFile = fromJson(FileDescriptorProtoSchema, {
  name: "odd.proto",
  package: "odd",
  syntax: "proto3",
  dependency: ["google/protobuf/wrappers.proto", "google/protobuf/struct.proto", "google/protobuf/any.proto"],
  messageType: [
    ...[
      [oddField("double", "TYPE_DOUBLE", 1)],
      [oddField("float", "TYPE_FLOAT", 1)],
      [oddField("long", "TYPE_INT64", 2_000), oddField("unsigned", "TYPE_UINT64", 2 ** 29 - 1)],
      [oddField("zigzag", "TYPE_SINT64", 1), oddField("fixed", "TYPE_FIXED64", 2)],
      [oddField("bytes", "TYPE_BYTES", 16), oddField("flag", "TYPE_BOOL", 15), oddField("text", "TYPE_STRING", 17)],
      [{ ...oddField("numbers", "TYPE_INT32", 1), label: "LABEL_REPEATED" }],
      [{ ...oddField("doubles", "TYPE_DOUBLE", 1), label: "LABEL_REPEATED", options: { packed: false } }],
      [{ ...oddField("wrapped", "TYPE_MESSAGE", 1), typeName: ".google.protobuf.StringValue" }],
      [{ ...oddField("any", "TYPE_MESSAGE", 1), typeName: ".google.protobuf.Any" }],
    ].map((field, index) => ({ name: `Odd${index}`, field })),
    {
      name: "Mixed",
      field: [
        { ...oddField("text", "TYPE_STRING", 5), oneofIndex: 0 },
        { ...oddField("number", "TYPE_INT32", 1), oneofIndex: 0 },
        { ...oddField("json", "TYPE_MESSAGE", 4), typeName: ".google.protobuf.Struct", oneofIndex: 1 },
        { ...oddField("flag", "TYPE_BOOL", 2), oneofIndex: 1 },
        oddField("between", "TYPE_UINT32", 3),
      ],
      oneofDecl: [{ name: "first" }, { name: "second" }],
    },
    {
      name: "WrappedCase",
      field: [{ ...oddField("wrapped", "TYPE_MESSAGE", 1), typeName: ".google.protobuf.Int32Value", oneofIndex: 0 }],
      oneofDecl: [{ name: "only" }],
    },
    {
      name: "Mapped",
      field: [
        { ...oddField("by_number", "TYPE_MESSAGE", 1), label: "LABEL_REPEATED", typeName: ".odd.Mapped.ByNumberEntry" },
      ],
      nestedType: [
        {
          name: "ByNumberEntry",
          field: [oddField("key", "TYPE_INT32", 1), oddField("value", "TYPE_STRING", 2)],
          options: { mapEntry: true },
        },
      ],
    },
  ],
});

function oddField(name: string, type: string, number: number): { name: string; type: string; number: number } {
  return { name, type, number };
}

function messagesOf(odd: FileDescriptorProto): readonly DescMessage[] {
  const wellKnownFiles = [file_google_protobuf_wrappers, file_google_protobuf_struct, file_google_protobuf_any];
  const set = create(FileDescriptorSetSchema, { file: [...wellKnownFiles.map(({ proto }) => proto), odd] });
  return createFileRegistry(set).getFile(odd.name)?.messages ?? [];
}

const otherTypes = [
  ...[file_google_protobuf_struct, file_google_protobuf_timestamp, file_google_protobuf_any].flatMap(
    ({ messages }) => messages,
  ),
  ...[file_google_protobuf_wrappers, file_google_protobuf_type, file_google_protobuf_descriptor].flatMap(
    ({ messages }) => messages,
  ),
  ...messagesOf(oddFile),
];

/**
 * Texts of one to four bytes per character, with unpaired surrogates, around the lengths at which the length prefix
 * grows.
 */
const texts = [
  ...["", "é", "hello", "\ud800", "x\udc00y", "日本語", "\udc00\ud800", "\0", "__proto__", "7", "constructor"],
  ...[11, 12, 13, 43, 63, 64, 127, 128].flatMap((times) =>
    ["x", "é", "日", "😀", "\ud83d"].map((c) => c.repeat(times)),
  ),
];
const longTexts = [5_461, 5_462, 8_192, 16_383, 16_384].flatMap((times) =>
  ["x", "é", "日"].map((c) => c.repeat(times)),
);

/** Draws a number below a bound, deterministic for a seed. */
type Draw = (bound: number) => number;

function drawing(seed: number): Draw {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

function pick<T>(draw: Draw, values: readonly T[]): T | undefined {
  return values[draw(values.length)];
}

function anyText(draw: Draw): string {
  return pick(draw, draw(50) === 0 ? longTexts : texts) ?? "";
}

function several<T>(draw: Draw, one: () => T): T[] {
  return Array.from({ length: draw(4) }, one);
}

function anyJson(draw: Draw, depth: number): unknown {
  switch (draw(depth > 0 ? 6 : 4)) {
    case 0:
      return null;
    case 1:
      return draw(2) === 0;
    case 2:
      return pick(draw, [0, -0, 7, 1.5e300, Number.NaN]);
    case 3:
      return anyText(draw);
    case 4:
      return several(draw, () => anyJson(draw, depth - 1));
    default:
      return anyStruct(draw, depth - 1);
  }
}

function anyStruct(draw: Draw, depth: number): object {
  return Object.fromEntries(several(draw, () => [anyText(draw), anyJson(draw, depth)]));
}

/** How messages are drawn: their depth, and whether they include numbers that the writer leaves to `toBinary`. */
interface Kind {
  readonly depth: number;
  readonly odd: boolean;
}

const longs = [0n, 1n, 127n, 128n, 1_767_323_045n, 2n ** 31n, 2n ** 35n, 2n ** 53n - 1n];
const oddLongs = [2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, -1n, -(2n ** 63n), "12", 5, "none"];
const ints = [0, 1, 127, 128, 16_383, 16_384, 2 ** 21, 2 ** 28, 2 ** 31 - 1];
const oddInts = [-1, -(2 ** 31), 2 ** 31, 2 ** 32 - 1, 2 ** 32, 0.5, Number.NaN];

function anyScalar(draw: Draw, scalar: ScalarType, { odd }: Kind): unknown {
  switch (scalar) {
    case ScalarType.STRING:
      return anyText(draw);
    case ScalarType.BOOL:
      return draw(2) === 0;
    case ScalarType.BYTES: {
      const bytes = Uint8Array.from({ length: draw(200) }, () => draw(256));
      return draw(2) === 0 ? bytes : Buffer.from(bytes);
    }
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return pick(draw, [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, -1e30]);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return pick<unknown>(draw, odd && draw(4) === 0 ? oddLongs : longs);
    default:
      return pick(draw, odd && draw(4) === 0 ? oddInts : ints);
  }
}

function anyValue(draw: Draw, field: DescField, kind: Kind): unknown {
  const { message, parent, scalar } = field;
  if (field.enum !== undefined) return pick(draw, field.enum.values)?.number;
  if (message === undefined) return anyScalar(draw, scalar ?? ScalarType.INT32, kind);
  if (message.typeName === "google.protobuf.Struct" && parent?.typeName !== "google.protobuf.Value") {
    return anyStruct(draw, kind.depth);
  }
  const isWrapped = isWrapperDesc(message) && field.fieldKind === "message" && field.oneof === undefined;
  return isWrapped ? anyScalar(draw, message.fields[0].scalar, kind) : anyMessage(draw, message, kind);
}

function anyMember(draw: Draw, member: DescField | DescOneof, kind: Kind): unknown {
  if (member.kind === "oneof") {
    const field = pick(draw, member.fields);
    return field && { case: field.localName, value: anyValue(draw, field, kind) };
  }
  if (member.fieldKind === "list") return several(draw, () => anyValue(draw, member, kind));
  if (member.fieldKind !== "map") return anyValue(draw, member, kind);
  const keyOf = () => (member.mapKey === ScalarType.STRING ? anyText(draw) : String(draw(300) - 150));
  return Object.fromEntries(several(draw, () => [keyOf(), anyValue(draw, member, kind)]));
}

/** Draws a message of a type, occasionally with unknown fields. */
function anyMessage(draw: Draw, desc: DescMessage, { depth, odd }: Kind): Message {
  const message = dynamic(create(desc));
  for (const member of desc.members) {
    const isSet = depth > 0 && draw(2) === 0;
    if (isSet) message[member.localName] = anyMember(draw, member, { depth: depth - 1, odd });
  }
  if (draw(10) === 0) {
    message.$unknown = [
      { no: 2 ** 29 - 1, wireType: 2, data: Uint8Array.of(3, 1, 2, 3) },
      { no: 2_047, wireType: 0, data: Uint8Array.of(0x80, 0x01) },
    ];
  }
  return message;
}

/** Returns the bytes that a writer encodes, or its error. */
function outcome(write: (desc: DescMessage, message: Message) => Uint8Array, desc: DescMessage, message: Message) {
  try {
    return Buffer.from(write(desc, message)).toString("latin1");
  } catch (error) {
    return { error: String(error) };
  }
}

function expectAlike(desc: DescMessage, message: Message): void {
  const expected = outcome(toBinary, desc, message);
  expect(outcome(writeBinary, desc, message)).toEqual(expected);
  expect(outcome(writeBuffer, desc, message)).toEqual(expected);
}

/** Counts how often the writer starts on a message: falling back to `toBinary` starts again. */
function beginningsOf(desc: DescMessage, message: Message): number {
  let beginnings = 0;
  const get = (target: Message, key: string | symbol): unknown => {
    if (key === "$typeName") beginnings++;
    return Reflect.get(target, key);
  };
  writeBinary(desc, new Proxy(message, { get }));
  return beginnings;
}

const named = (types: readonly DescMessage[]) => types.map((desc) => [desc.typeName, desc] as const);

describe("writing binary messages", () => {
  it.each(named([...ourTypes, ...otherTypes]))("the binary writer writes %s as toBinary does", (_, desc) => {
    fc.assert(
      fc.property(fc.integer(), (seed) =>
        expectAlike(desc, anyMessage(drawing(seed), desc, { depth: 4, odd: seed % 2 === 0 })),
      ),
      { numRuns: tries(20, 60) },
    );
  });

  it.each(named(ourTypes))("the binary writer writes every ordinary %s without toBinary", (_, desc) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        expect(beginningsOf(desc, anyMessage(drawing(seed), desc, { depth: 4, odd: false }))).toBe(1);
      }),
      { numRuns: 30 },
    );
  });

  it.each([100, 127, 128, 16_381, 16_384, 70_000, 2 ** 21, 2 ** 21 + 3, 3 * 2 ** 20])(
    "the binary writer writes the length of %i characters, alone and in nested messages",
    (times) => {
      for (const text of ["x".repeat(times), "é".repeat(times), `${"x".repeat(times - 1)}\ud800`]) {
        const part = create(PartSchema, {
          content: { case: "text", value: text },
          metadata: { [text]: [text, { text }] },
        });
        const message = create(MessageSchema, { messageId: "m", parts: [part, create(PartSchema), part] });
        const task = create(TaskSchema, { id: text, history: [message] });
        const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
        // Compared as buffers, since a printed difference would be megabytes long.
        expect(Buffer.compare(writeBinary(StreamResponseSchema, event), toBinary(StreamResponseSchema, event))).toBe(0);
        expect(Buffer.compare(writeBuffer(PartSchema, part), toBinary(PartSchema, part))).toBe(0);
      }
    },
  );

  it("the binary writer fails as toBinary does for an invalid message, and writes the next one", () => {
    const part = create(PartSchema, { content: { case: "text", value: "good" } });
    const good = create(MessageSchema, { messageId: "m", parts: [part] });
    const wrong: readonly object[] = [
      { messageId: undefined },
      { messageId: 7 },
      { parts: undefined },
      { parts: [part, undefined] },
      { parts: [part, good] },
      { parts: [part, { ...part, content: { case: "raw", value: "text" } }] },
      { parts: [part, { ...part, content: undefined }] },
      { parts: [part, { ...part, content: { case: "unheard", value: 1 } }] },
      { role: "user" },
      { metadata: { a: undefined, b: 1n, c: () => {} } },
      { metadata: [1] },
      { $typeName: "lf.a2a.v1.Task" },
      { $unknown: [{}] },
      Object.create({ contextId: "inherited", metadata: { inherited: true } }),
    ];
    for (const members of wrong) {
      const inherits = Object.getPrototypeOf(members) !== Object.prototype;
      expectAlike(MessageSchema, inherits ? (Object.assign(members, good) as Message) : { ...good, ...members });
      expect(writeBinary(MessageSchema, good)).toEqual(toBinary(MessageSchema, good));
    }
  });

  it("the binary writer fails as toBinary does for a message that holds itself, and writes the next one", () => {
    const metadata: { [key: string]: unknown } = { number: 1.5 };
    metadata["self"] = metadata;
    const endless: Message = Object.assign(create(MessageSchema, { messageId: "m" }), { metadata });
    const good = create(MessageSchema, { messageId: "m", metadata: { number: 2.5 } });
    const expected = toBinary(MessageSchema, good);
    const writeAt = (depth: number): void => {
      if (depth > 0) return writeAt(depth - 1);
      expect(() => writeBinary(MessageSchema, endless as typeof good)).toThrow(RangeError);
      expect(Buffer.compare(writeBinary(MessageSchema, good), expected)).toBe(0);
    };
    for (let depth = 0; depth < 100; depth++) writeAt(depth);
  });

  it("the binary writer writes a message whose getter writes another one", () => {
    const inner = create(MessageSchema, { messageId: "inner", contextId: "context" });
    const outer = {
      ...create(MessageSchema, { messageId: "outer" }),
      get contextId() {
        return Buffer.from(writeBinary(MessageSchema, inner)).toString("latin1");
      },
    };
    expectAlike(MessageSchema, outer);
    expect(writeBinary(MessageSchema, outer)).toEqual(toBinary(MessageSchema, outer));
  });

  it("the binary writer returns memory that no later message changes, and writeBinary returns bytes of its own", () => {
    for (const text of ["", "short", "x".repeat(60), "x".repeat(5_000), "x".repeat(2 ** 21)]) {
      const message = create(MessageSchema, { messageId: text });
      const expected = toBinary(MessageSchema, message);
      const bytes = writeBinary(MessageSchema, message);
      const buffer = writeBuffer(MessageSchema, message);
      writeBinary(MessageSchema, create(MessageSchema, { messageId: "other", contextId: "y".repeat(6_000) }));
      expect(Buffer.compare(bytes, expected)).toBe(0);
      expect(Buffer.compare(buffer, expected)).toBe(0);
      expect(bytes.constructor).toBe(Uint8Array);
      expect(bytes.buffer.byteLength).toBe(bytes.length);
      expect(Buffer.isBuffer(buffer)).toBe(true);
    }
  });

  it("the binary writer keeps memory for the next message, but not what one large message needed", () => {
    const output = new Output();
    output.string("x".repeat(100_000));
    const { bytes } = output;
    output.reset();
    expect([output.bytes === bytes, output.at]).toEqual([true, 0]);
    output.string("é".repeat(1_000_000));
    expect(output.copy().length).toBe(2_000_003);
    output.reset();
    expect(output.bytes.length).toBeLessThan(2 ** 20);
  });
});
