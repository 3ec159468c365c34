import {
  type Message as AnyMessage,
  create,
  type DescMessage,
  equals,
  fromBinary,
  type JsonValue,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as gen from "../../../../gen/a2a/v1/a2a_pb.js";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";
import * as model from "../../../../src/protocol/model.js";
import { findOperation, type OperationName } from "../../../../src/protocol/operations.js";
import type { FileBytes } from "../../../../src/version/options.js";
import { readEvent, writeEvent } from "../../../../src/version/v0.3/proto/messages.js";
import { findReply, findRequest, type Translation } from "../../../../src/version/v0.3/proto/operations.js";
import type { Reading } from "../../../../src/version/v0.3/proto/peers.js";
import { arbitraryMessage } from "../../../support/arbitrary-message.js";
import { tries } from "../../../support/tries.js";
import { arbitraryConfig, arbitraryEvent, arbitrarySend, arbitraryTask, textPart } from "../proto-arbitrary.js";

const forms: readonly FileBytes[] = ["base64", "raw"];

const events: Translation = {
  read: (wire, reading) => readEvent(wire as gen.StreamResponse, reading),
  write: (event, form) => writeEvent(event as model.StreamResponse, form, false),
};

function request(name: OperationName): Translation {
  return findRequest(findOperation(name));
}

function reply(name: OperationName): Translation {
  return findReply(findOperation(name));
}

interface Kind {
  readonly name: string;
  readonly own: DescMessage;
  readonly wire: DescMessage;
  readonly translation: Translation;
  readonly message: fc.Arbitrary<AnyMessage>;
  readonly from?: Reading["from"];
}

const kinds: readonly Kind[] = [
  {
    name: "a task",
    own: model.TaskSchema,
    wire: gen.TaskSchema,
    translation: reply("getTask"),
    message: arbitraryTask,
  },
  {
    name: "an event",
    own: model.StreamResponseSchema,
    wire: gen.StreamResponseSchema,
    translation: events,
    message: arbitraryEvent,
  },
  {
    name: "a push configuration",
    own: model.TaskPushNotificationConfigSchema,
    wire: gen.TaskPushNotificationConfigSchema,
    translation: reply("getTaskPushNotificationConfig"),
    message: arbitraryConfig,
  },
  {
    name: "the request for one",
    own: model.TaskPushNotificationConfigSchema,
    wire: gen.CreateTaskPushNotificationConfigRequestSchema,
    translation: request("createTaskPushNotificationConfig"),
    message: arbitraryConfig,
    from: "client",
  },
  {
    name: "a message to an agent",
    own: model.SendMessageRequestSchema,
    wire: gen.SendMessageRequestSchema,
    translation: request("sendMessage"),
    message: arbitrarySend,
    from: "client",
  },
];

function reading(fileBytes?: FileBytes, from: Reading["from"] = "agent"): Reading {
  return { from, fileBytes, violations: [] };
}

describe.each(kinds)("$name", ({ own, wire, translation, message, from }) => {
  it.each(forms)("a message survives the binary form of 0.3, with files in %s", (fileBytes) => {
    fc.assert(
      fc.property(message, (original) => {
        const bytes = toBinary(wire, translation.write(original, { fileBytes, references: true }));
        const read = reading(fileBytes === "raw" ? "raw" : undefined, from);
        const back = translation.read(fromBinary(wire, bytes), read);
        expect(read.violations).toEqual([]);
        expect(equals(own, back, original)).toBe(true);
      }),
      { numRuns: tries(70, 200) },
    );
  });

  // Requirements: V03-REST-5
  it.each(forms)("a message survives the JSON of 0.3, with files in %s", (fileBytes) => {
    fc.assert(
      fc.property(message, (original) => {
        const json = JSON.stringify(writeJson(wire, translation.write(original, { fileBytes, references: true })));
        const { message: parsed, violations } = readJson(wire, JSON.parse(json) as JsonValue);
        expect(violations).toEqual([]);
        const back = translation.read(parsed, reading(fileBytes === "raw" ? "raw" : undefined, from));
        expect(equals(own, back, original)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a message of 0.3's schema", () => {
  // Requirements: IOP-8
  it.each([
    ["task", gen.TaskSchema, reply("getTask")],
    ["event", gen.StreamResponseSchema, events],
  ] as const)("a message of 0.3's schema survives the model: %s", (_, wire, translation) => {
    fc.assert(
      fc.property(arbitraryMessage(wire), (original) => {
        withoutLosses(original);
        const read = translation.read(original, reading("raw"));
        const back = translation.write(read, { fileBytes: "raw", references: true });
        expect(writeJson(wire, back)).toEqual(writeJson(wire, original));
      }),
      { numRuns: tries(100, 300) },
    );
  });
});

// Removes what the model cannot express: final marks, empty files, absent data, unspecified roles.
function withoutLosses(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const entry of Object.values(value)) withoutLosses(entry);
  const { $typeName } = value as Partial<AnyMessage>;
  if ($typeName === "a2a.v1.Message") (value as gen.Message).role ||= gen.Role.AGENT;
  if ($typeName === "a2a.v1.TaskStatusUpdateEvent") (value as gen.TaskStatusUpdateEvent).final = false;
  if ($typeName === "a2a.v1.DataPart") (value as gen.DataPart).data ??= {};
  if ($typeName !== "a2a.v1.Part") return;
  const part = value as gen.Part;
  if (part.part.case === "file" && part.part.value.file.case === undefined) part.part = { case: undefined };
}

describe("what 0.3's schema cannot carry", () => {
  const form = { fileBytes: "base64", references: true } as const;
  const through = (message: model.SendMessageRequest): model.SendMessageRequest => {
    const sendMessage = request("sendMessage");
    return sendMessage.read(sendMessage.write(message, form), reading(undefined, "client")) as model.SendMessageRequest;
  };
  const send = (changes: object): model.SendMessageRequest =>
    create(model.SendMessageRequestSchema, { message: { messageId: "m", role: model.Role.USER }, ...changes });

  it("a request in 0.3's schema loses the tenant", () => {
    expect(through(send({ tenant: "north" })).tenant).toBe("");
  });

  it("a request in 0.3's schema loses that no history is wanted", () => {
    expect(through(send({ configuration: { historyLength: 0 } })).configuration?.historyLength).toBeUndefined();
  });

  it("a part in 0.3's schema loses the name and the media type of a text", () => {
    const text = { ...textPart("a"), filename: "a.txt", mediaType: "text/plain" };
    expect(through(send({ message: { parts: [text] } })).message?.parts).toEqual([textPart("a")]);
  });

  it("a webhook in 0.3's schema loses the second scheme", () => {
    const translation = request("createTaskPushNotificationConfig");
    const wire = create(gen.CreateTaskPushNotificationConfigRequestSchema, {
      parent: "tasks/t",
      config: { pushNotificationConfig: { url: "u", authentication: { schemes: ["Bearer", "Basic"] } } },
    });
    expect(translation.read(wire, reading())).toMatchObject({ authentication: { scheme: "Bearer" } });
  });

  it("a cancellation in 0.3's schema loses the metadata", () => {
    const cancelTask = request("cancelTask");
    const wire = cancelTask.write(create(model.SendMessageRequestSchema, { metadata: { a: 1 } }), form);
    expect(wire).not.toHaveProperty("metadata");
  });

  it("a send in 0.3's schema says whether to wait, even if the caller has not set it", () => {
    const sendMessage = request("sendMessage");
    expect(sendMessage.write(send({}), form)).toMatchObject({ configuration: { blocking: true } });
    const now = send({ configuration: { returnImmediately: true } });
    expect(sendMessage.write(now, form)).toMatchObject({ configuration: { blocking: false } });
  });
});

describe("data that is no object", () => {
  // Requirements: IOP-11
  it.each([null, 7, "x", true, [1, { a: null }]])(
    "data that is no object is wrapped and marked in 0.3's schema: %j",
    (value) => {
      const json = { messageId: "m", role: "ROLE_AGENT", parts: [{ data: value, metadata: { own: 1 } }] };
      const { message } = readJson(model.StreamResponseSchema, { message: json });
      const wire = writeEvent(message, { fileBytes: "base64", references: true }, false);
      expect(writeJson(gen.StreamResponseSchema, wire)).toEqual({
        message: {
          messageId: "m",
          role: "ROLE_AGENT",
          content: [{ data: { data: { value } }, metadata: { own: 1, data_part_compat: true } }],
        },
      });
      expect(writeJson(model.StreamResponseSchema, readEvent(wire, reading()))).toEqual({ message: json });
    },
  );

  it("data in 0.3's schema stays wrapped when the mark is not there", () => {
    const { message } = readJson(gen.StreamResponseSchema, {
      message: { content: [{ data: { data: { value: 7 } } }] },
    });
    expect(writeJson(model.StreamResponseSchema, readEvent(message, reading()))).toMatchObject({
      message: { parts: [{ data: { value: 7 } }] },
    });
  });
});

describe("states and roles", () => {
  it.each(Array.from({ length: 9 }, (_, number) => number))(
    "the state %i is the same in 0.3's schema and in ours",
    (state) => {
      const wire = create(gen.TaskSchema, { status: { state } });
      expect(reply("getTask").read(wire, reading())).toMatchObject({ status: { state } });
      expect(gen.TaskState[state]?.replace("LL", "L")).toBe(model.TaskState[state]);
    },
  );

  it("an unknown state of 0.3's schema is unspecified", () => {
    const wire = create(gen.TaskSchema, { status: { state: 77 as number } });
    expect(reply("getTask").read(wire, reading())).toMatchObject({ status: { state: model.TaskState.UNSPECIFIED } });
  });

  it.each([
    ["client", model.Role.USER],
    ["agent", model.Role.AGENT],
  ] as const)("a message of 0.3's schema without a role has that of the %s that wrote it", (from, role) => {
    const wire = create(gen.StreamResponseSchema, { payload: { case: "msg", value: {} } });
    expect(readEvent(wire, reading(undefined, from))).toMatchObject({ payload: { value: { role } } });
  });
});
