import { type } from "arktype";
import {
  A2AError,
  type Answer,
  type AnswerEvent,
  artifact,
  completed,
  data,
  failed,
  reply,
  type StandardSchema,
  text,
} from "trivium";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { served, ways } from "./scene.js";

const tides = z.object({ port: z.string(), highs: z.array(z.object({ at: z.string(), metres: z.number() })) });
const emden = { port: "Emden", highs: [{ at: "04:10", metres: 3.1 }] };
const wrong = { port: "Emden", highs: [{ at: "04:10", metres: "3.1" }] };

async function* agent({ text: prompt }: { readonly text: string }) {
  if (prompt === "reply") {
    yield reply([text("see"), data(emden)]);
    return;
  }
  yield artifact("none here", { artifactId: "a" });
  yield artifact([text("see"), data(prompt === "wrong" ? wrong : emden)], { artifactId: "b" });
  if (prompt === "fail") yield failed([text("no"), data({ why: "storm" })]);
  else yield completed([text("done"), data({ other: true })]);
}

async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return error;
  }
}

describe.each(ways)("the data of an answer, %s", (way) => {
  async function answerTo(prompt: string): Promise<Answer> {
    await using scene = await served(way, agent);
    return await scene.client.send(prompt);
  }

  it("the data of an answer is that of the artifacts when the task completed, else that of its status", async () => {
    expect((await answerTo("go")).data()).toEqual(emden);
    expect((await answerTo("fail")).data()).toEqual({ why: "storm" });
    expect((await answerTo("reply")).data()).toEqual(emden);
  });

  it("the data of an answer has the type of its schema, whatever library made it", async () => {
    for (const prompt of ["go", "reply"]) {
      const answer = await answerTo(prompt);
      const byZod = answer.data(tides);
      expectTypeOf(byZod).toEqualTypeOf<{ port: string; highs: { at: string; metres: number }[] }>();
      expect(byZod.highs[0]?.metres).toBe(3.1);
      const byValibot = answer.data(v.object({ port: v.pipe(v.string(), v.toUpperCase()) }));
      expectTypeOf(byValibot).toEqualTypeOf<{ port: string }>();
      expect(byValibot).toEqual({ port: "EMDEN" });
      const byArktype = answer.data(type({ port: "string" }));
      expectTypeOf(byArktype).toEqualTypeOf<{ port: string }>();
      expect(byArktype.port).toBe("Emden");
    }
  });

  it("data that violates its schema is the agent's error, with the path of the field", async () => {
    const answer = await answerTo("wrong");
    const error = await errorOf(() => answer.data(tides));
    expect(error).toBeInstanceOf(A2AError);
    expect(error).toMatchObject({
      code: "invalidAgentResponse",
      violations: [{ field: "task.artifacts[1].parts[1].data.highs[0].metres" }],
    });
    const events: AnswerEvent[] = [];
    await using scene = await served(way, agent);
    for await (const event of scene.client.stream("wrong")) events.push(event);
    const piece = events.findLast((event) => event.type === "artifact");
    expect(await errorOf(() => piece?.data(tides))).toMatchObject({
      code: "invalidAgentResponse",
      violations: [{ field: "artifact.parts[1].data.highs[0].metres" }],
    });
  });

  it("missing data violates a schema, unless the schema allows it", async () => {
    await using scene = await served(way, async function* () {
      yield completed("nothing else");
    });
    const answer = await scene.client.send("go");
    expect(answer.data()).toBeUndefined();
    expect(answer.data(tides.optional())).toBeUndefined();
    expect(await errorOf(() => answer.data(tides))).toMatchObject({
      code: "invalidAgentResponse",
      violations: [{ field: "task.status.message.parts" }],
    });
  });
});

describe("a schema", () => {
  const slow: StandardSchema<string> = {
    "~standard": { version: 1, vendor: "slow", validate: async () => ({ value: "late" }) },
  };

  it("a schema that is asynchronous is a mistake of the program", async () => {
    await using scene = await served("in process", agent);
    const answer = await scene.client.send("go");
    expect(() => answer.data(slow)).toThrow(
      new TypeError("schema must be synchronous: that of slow returns a promise"),
    );
    expect(() => answer.data({} as typeof slow)).toThrow(TypeError);
    expectTypeOf(answer.data(z.number().optional().catch(1))).toEqualTypeOf<number | undefined>();
    // @ts-expect-error: a schema of numbers gives no string
    const none: () => string = () => answer.data(z.number());
    expect(none).toThrow(A2AError);
  });
});
