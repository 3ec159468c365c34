import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createProject, type Project } from "./project.js";
import { complete, runtimes } from "./runtime.js";
import { type Stage, startStage } from "./stage.js";

let stage: Stage;
let project: Project;

beforeAll(async () => {
  [stage, project] = await Promise.all([startStage(), createProject()]);
});

afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

beforeEach(() => stage.reset());

const numbers = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(" ");

describe.each(runtimes)("the client under $name", (runtime) => {
  if (!runtime.installed && !complete) {
    it.skip("is not installed: bash test/runtimes/setup.sh");
    return;
  }

  describe.each([
    { entry: "trivium/client", program: "web" },
    { entry: "trivium", program: "main" },
  ] as const)("of $entry", ({ program }) => {
    /** Runs a scenario and returns its result. The process must exit by itself without errors. */
    async function run(scenario: string): Promise<unknown> {
      const child = project.start(runtime, program, [scenario, JSON.stringify(stage.places)]);
      const { printed, complaints, code } = await child.end;
      expect({ complaints, code }).toEqual({ complaints: "", code: 0 });
      return JSON.parse(printed);
    }

    it.each([
      ["jsonRpc", "JSONRPC"],
      ["httpJson", "HTTP+JSON"],
      ["connect", "CONNECT"],
      ["grpcWeb", "GRPC"],
    ])("the client under another runtime reads the card, sends and streams: %s", async (scenario, binding) => {
      expect(await run(scenario)).toEqual({ card: "Counter", binding, text: "SHOUT", streamed: numbers(5) });
    });

    it("the client under another runtime gets every event once when the connection breaks in the middle", async () => {
      expect(await run("resume")).toEqual({ texts: numbers(40), recovered: [] });
    });

    it("the client under another runtime puts a stream together", async () => {
      expect(await run("putTogether")).toEqual({ count: 5, isSameText: true, state: "completed" });
    });

    it("the client under another runtime distinguishes errors by code, and reads the challenge", async () => {
      expect(await run("errors")).toEqual({
        unknownTask: { code: "taskNotFound" },
        agent: { code: "unsupportedOperation" },
        admission: { code: "unauthenticated", challenge: 'Bearer realm="counter"' },
        nobodyThere: { code: "unavailable" },
      });
    });

    it("the client under another runtime sends an API key and extensions", async () => {
      expect(await run("headers")).toBe("key-7");
    });

    it.each([
      ["leaveAStream", "no error"],
      ["abortAStream", "AbortError"],
      ["closeTheClient", "AbortError"],
    ])(
      "the client under another runtime frees the connection of a stream that ends early: %s",
      async (scenario, outcome) => {
        expect(await run(scenario)).toEqual({ heard: outcome, roomAgain: true });
      },
    );

    it("the client under another runtime follows a redirect to the card, and none with a secret", async () => {
      const before = [stage.secrets().length, stage.ledAway.length] as const;
      expect(await run("secrets")).toMatchObject({ card: "Declared", error: { code: expect.any(String) } });
      expect(stage.secrets().slice(before[0])).toEqual(["hush-hush"]);
      const led = stage.ledAway.slice(before[1]);
      expect(led.map(({ method }) => method)).not.toContain("POST");
      expect(led.map(({ headers }) => headers["x-api-key"])).toEqual(led.map(() => undefined));
      expect(led).not.toEqual([]);
    });

    // A web page cannot control these.
    if (program === "web") return;

    it("the client under another runtime shows and checks certificates over HTTP and gRPC", async () => {
      expect(await run("certificates")).toEqual({
        jsonRpc: { said: expect.any(String), binding: "JSONRPC" },
        grpc: { said: expect.any(String), binding: "GRPC" },
        unknown: { code: "unavailable", message: expect.any(String) },
        unshown: { code: "unavailable", message: expect.any(String) },
      });
    });

    it("the client under another runtime connects to no forbidden address, whatever its name", async () => {
      expect(await run("addresses")).toEqual({
        card: { code: "unavailable", message: expect.stringContaining("may not be called") },
        interface: { code: "unavailable", message: expect.stringContaining("may not be called") },
        allowed: 200,
        forbidden: { code: "unavailable", message: expect.stringContaining("may not be called") },
      });
    });
  });
});
