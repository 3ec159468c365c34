import { create } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { data, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textAnalyst } from "../../../examples/demo/agent.js";
import { analystCard } from "../../../examples/demo/card.js";
import { documentsOf, maxBytes } from "../../../examples/demo/documents.js";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import { findOperation, type Operations } from "../../../src/protocol/operations.js";
import type { JsonRpcAdapter } from "../../../src/version/codec.js";
import { v1 } from "../../../src/version/v1.0/v1.js";

const adapter = v1.jsonRpc as JsonRpcAdapter;
let server: Server;
let transport: Operations<CallOptions>;

beforeAll(async () => {
  server = await serve({ card: analystCard("1.0.0"), agent: textAnalyst, port: 0 });
  transport = createJsonRpcTransport({ url: server.url, adapter });
});

afterAll(() => server.close());

interface Artifact {
  readonly name: string;
  readonly parts: readonly { readonly text?: string; readonly data?: Figures; readonly mediaType: string }[];
}

interface Figures {
  readonly documents: readonly {
    readonly name: string | null;
    readonly mediaType: string;
    readonly sections: readonly { readonly title: string }[];
  }[];
}

interface Task {
  readonly id: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
  };
  readonly artifacts?: readonly Artifact[];
}

const requestOf = (parts: readonly object[], rest: object = {}, configuration: object = {}): object => ({
  message: { messageId: "m", role: "ROLE_USER", parts, ...rest },
  configuration,
});

async function send(...request: Parameters<typeof requestOf>): Promise<Task> {
  const codec = adapter.codec(findOperation("sendMessage"));
  const read = codec.readRequest(JSON.parse(JSON.stringify(requestOf(...request))));
  const answer = await transport.sendMessage(read as Parameters<typeof transport.sendMessage>[0], {});
  return (JSON.parse(JSON.stringify(codec.writeReply(answer, read))) as { readonly task: Task }).task;
}

const fileOf = (content: string, rest: object): object => ({ raw: Buffer.from(content).toString("base64"), ...rest });

const textSections = ["Size", "Words & sentences", "Reading time", "Most frequent terms", "Readability"];
const tableSections = ["Shape", "Columns", "Missing values", "Ranges"];

describe("the text analyst", () => {
  it.each([
    { what: "text", part: { text: "One. Two." }, mediaType: "text/plain", name: null, sections: textSections },
    {
      what: "text in Markdown",
      part: { text: "# One", mediaType: "text/markdown" },
      mediaType: "text/markdown",
      name: null,
      sections: textSections,
    },
    {
      what: "a Markdown file",
      part: fileOf("# One", { filename: "a.md" }),
      mediaType: "text/markdown",
      name: "a.md",
      sections: textSections,
    },
    {
      what: "a CSV file",
      part: fileOf("a,b\n1,2", { filename: "a.csv", mediaType: "text/csv; header=present" }),
      mediaType: "text/csv",
      name: "a.csv",
      sections: tableSections,
    },
    {
      what: "a CSV file with a byte order mark",
      part: fileOf("\uFEFFa,b\n1,2", { mediaType: "text/csv" }),
      mediaType: "text/csv",
      name: null,
      sections: tableSections,
    },
    {
      what: "a JSON file",
      part: fileOf("[1]", { filename: "A.JSON" }),
      mediaType: "application/json",
      name: "A.JSON",
      sections: tableSections,
    },
    {
      what: "a value",
      part: { data: [{ a: 1 }, { a: null }] },
      mediaType: "application/json",
      name: null,
      sections: tableSections,
    },
  ])(
    "the text analyst reports on $what, once for people and once for programs",
    async ({ part, mediaType, name, sections }) => {
      const { status, artifacts } = await send([part]);
      expect(status.state).toBe("TASK_STATE_COMPLETED");
      expect(artifacts).toMatchObject([
        { name: "report.md", parts: [{ mediaType: "text/markdown" }] },
        {
          name: "figures.json",
          parts: [{ data: { documents: [{ name, mediaType }] }, mediaType: "application/json" }],
        },
      ]);
      const [report, figures] = artifacts ?? [];
      const headings = report?.parts[0]?.text?.match(/^#+ .*$/gm);
      expect(headings).toEqual(["# Text analysis", ...sections.map((title) => `## ${title}`)]);
      expect(figures?.parts[0]?.data?.documents[0]?.sections.map(({ title }) => title)).toEqual(sections);
    },
  );

  it("the text analyst reads all text of a message as one document, and each file as its own", async () => {
    const parts = [
      { text: "One." },
      fileOf("a\n1", { filename: "a.csv" }),
      { text: "Two." },
      fileOf("{}", { filename: "b.json" }),
    ];
    const { artifacts = [] } = await send(parts);
    expect(artifacts[0]?.parts[0]?.text?.match(/^# .*$/gm)).toEqual(
      [1, 2, 3].map((n) => `# Text analysis, document ${n} of 3`),
    );
    expect(artifacts[0]?.parts[0]?.text).toContain("- 2 sentences");
    expect(artifacts[1]?.parts[0]?.data?.documents.map(({ name }) => name)).toEqual([null, "a.csv", "b.json"]);
  });

  it("the text analyst streams the report section by section", async () => {
    const operation = findOperation("sendStreamingMessage");
    const request = adapter
      .codec(operation)
      .readRequest(JSON.parse(JSON.stringify(requestOf([{ text: "One. Two." }]))));
    const events: unknown[] = [];
    for await (const { response } of transport.sendStreamingMessage(
      request as Parameters<typeof transport.sendStreamingMessage>[0],
      {},
    )) {
      const { payload } = response;
      if (payload.case === "artifactUpdate")
        events.push([payload.value.artifact?.name, payload.value.append, payload.value.lastChunk]);
      else events.push(payload.case);
    }
    const between = Array(3).fill(["report.md", true, false]);
    expect(events).toEqual([
      "task",
      "statusUpdate",
      ["report.md", false, false],
      ...between,
      ["report.md", true, true],
      ["figures.json", false, true],
      "statusUpdate",
    ]);
  });

  it("the text analyst asks for a missing text, and continues with the answer", async () => {
    const question = await send([{ text: " \n" }, fileOf("", { filename: "empty.txt" })]);
    expect(question.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(question.status.message?.parts[0]?.text).toContain("What shall I analyse?");
    await expect(send([fileOf("x", { filename: "a.exe" })], { taskId: question.id })).rejects.toMatchObject({
      code: "contentTypeNotSupported",
    });
    const again = await send([{ text: "" }], { taskId: question.id });
    expect(again).toMatchObject({ id: question.id, status: { state: "TASK_STATE_INPUT_REQUIRED" } });
    const done = await send([{ text: "One. Two." }], { taskId: question.id });
    expect(done).toMatchObject({ id: question.id, status: { state: "TASK_STATE_COMPLETED" } });
    expect(done.artifacts).toHaveLength(2);
  });

  it.each([
    { accepted: ["application/json"], mediaTypes: ["application/json"] },
    { accepted: ["Text/Plain"], mediaTypes: ["text/plain"] },
    { accepted: ["text/*", "image/png"], mediaTypes: ["text/markdown"] },
    { accepted: ["*/*"], mediaTypes: ["text/markdown", "application/json"] },
    { accepted: ["text/plain", "application/json"], mediaTypes: ["text/plain", "application/json"] },
    { accepted: ["image/png"], mediaTypes: ["text/markdown", "application/json"] },
  ])("the text analyst makes what its caller accepts: $accepted", async ({ accepted, mediaTypes }) => {
    const { artifacts = [] } = await send([{ text: "One." }], {}, { acceptedOutputModes: accepted });
    expect(artifacts.map(({ parts }) => parts[0]?.mediaType)).toEqual(mediaTypes);
  });

  it.each([
    {
      what: "of a foreign type",
      part: fileOf("x", { mediaType: "image/png" }),
      code: "contentTypeNotSupported",
      message:
        "Incompatible content types: unsupported media type image/png (accepted: text/plain, text/markdown, text/csv, application/json)",
    },
    {
      what: "with a foreign name",
      part: fileOf("x", { filename: "a.exe" }),
      code: "contentTypeNotSupported",
      message:
        "Incompatible content types: message.parts[0] is a file of unknown type, this agent takes text/plain, text/markdown, text/csv, application/json",
    },
    {
      what: "behind a URL",
      part: { url: "https://agent.example/a.csv" },
      code: "contentTypeNotSupported",
      message:
        "Incompatible content types: message.parts[0] is a URL, and this agent fetches none: send the content itself",
    },
    {
      what: "that is no JSON",
      part: fileOf("{]", { filename: "a.json" }),
      code: "invalidParams",
      message: 'message.parts[0] cannot be read: invalid JSON at line 1, column 2: unexpected "]"',
    },
    {
      what: "that is no CSV",
      part: fileOf("a,b\n1,2,3", { filename: "a.csv" }),
      code: "invalidParams",
      message: expect.stringContaining("message.parts[0] cannot be read: invalid CSV"),
    },
    {
      what: "that is no UTF-8",
      part: { raw: "/w==", filename: "a.txt" },
      code: "invalidParams",
      message: "message.parts[0] cannot be read: it is not text in UTF-8",
    },
    {
      what: "over its limit",
      part: { text: "x".repeat(maxBytes + 1) },
      code: "contentTooLarge",
      message: `${maxBytes + 1} bytes to analyse are over this agent's limit of ${maxBytes}`,
    },
  ])("the text analyst refuses a part $what and makes no task", async ({ part, code, message }) => {
    await expect(send([part], { contextId: "refused" })).rejects.toMatchObject({ code, message });
    const listed = await transport.listTasks(
      { $typeName: "lf.a2a.v1.ListTasksRequest", tenant: "", contextId: "refused", status: 0, pageToken: "" },
      {},
    );
    expect(listed.totalSize).toBe(0);
  });

  it("the text analyst reads a value without a kind, which gRPC can carry, as null", () => {
    const part = data([]);
    part.content = {
      case: "data",
      value: create(ValueSchema, { kind: { case: "listValue", value: { values: [{}] } } }),
    };
    expect(documentsOf([part])).toMatchObject([{ mediaType: "application/json", content: "[null]" }]);
  });

  it("the text analyst reads as much as its limit allows", async () => {
    const { status } = await send([{ text: "word ".repeat(Math.floor(maxBytes / 5)) }]);
    expect(status.state).toBe("TASK_STATE_COMPLETED");
  });
});
