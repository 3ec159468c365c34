import { Client } from "trivium/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProject, type Program, type Project } from "./project.js";
import { complete, runtimes } from "./runtime.js";

let project: Project;

beforeAll(async () => {
  project = await createProject();
});

afterAll(() => project?.[Symbol.asyncDispose]());

describe.each(runtimes)("an agent mounted under $name", (runtime) => {
  if (!runtime.installed && !complete) {
    it.skip("is not installed: bash test/runtimes/setup.sh");
    return;
  }

  let program: Program;
  let url: string;

  beforeAll(async () => {
    program = project.start(runtime, "mount");
    url = await program.firstLine;
  });

  it("the card of an agent under another runtime has an entity tag, and is not sent again", async () => {
    const place = `${url}/.well-known/agent-card.json`;
    const first = await fetch(place);
    expect(await first.json()).toMatchObject({ name: "Mounted", supportedInterfaces: expect.anything() });
    const again = await fetch(place, { headers: { "if-none-match": first.headers.get("etag") ?? "" } });
    expect(again.status).toBe(304);
  });

  it("an agent mounted under another runtime leaves other paths to other handlers", async () => {
    expect((await fetch(new URL("/elsewhere", url))).status).toBe(404);
  });

  describe.each(["JSONRPC", "HTTP+JSON"])("over %s", (binding) => {
    let client: Client;

    beforeAll(async () => {
      client = await Client.connect(url, { prefer: [binding] });
    });

    afterAll(() => client?.close());

    it("an agent mounted under another runtime answers", async () => {
      expect(await client.send("who")).toMatchObject({ text: expect.any(String), state: "message" });
      expect(client.connection?.binding).toBe(binding);
    });

    it("an agent mounted under another runtime streams", async () => {
      expect((await client.stream("count 300").answer).artifacts).toHaveLength(300);
    });

    it("an agent mounted under another runtime reports errors", async () => {
      await expect(client.getTask({ id: "nobody-has-it" })).rejects.toMatchObject({ code: "taskNotFound" });
      await expect(client.send("refuse")).rejects.toMatchObject({ code: "unsupportedOperation" });
      const answer = client.send("x".repeat(7 << 20));
      await expect(answer).rejects.toMatchObject({ code: "contentTooLarge" });
    });

    it("an agent mounted under another runtime sends events as they come, and sees a reader leave", async () => {
      // The agent allows one stream. Its task waits until it is canceled.
      let id = "";
      for await (const event of client.stream("count 4, wait at 3")) {
        if (event.type === "task") id = event.taskId;
        if (event.type === "artifact" && event.artifactId === "n-3") break;
      }
      const room = async (): Promise<unknown> => (await client.stream("shout").answer).state;
      await expect.poll(() => room().catch(String)).toBe("completed");
      await client.cancelTask({ id });
    });
  });

  it("an agent mounted under another runtime ends by itself when the agent and the server are closed", async () => {
    program.leave();
    const { complaints, code } = await program.end;
    expect(code).toBe(0);
    // Deno warns once that a request's signal also aborts after its response, which is harmless.
    expect(complaints.replace(/^Deno\.serve: request\.signal aborts on successful responses.*\n/, "")).toBe("");
  });
});
