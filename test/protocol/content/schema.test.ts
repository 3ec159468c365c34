import { type } from "arktype";
import { data, dataOf, type FieldViolation, type StandardSchema } from "trivium";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { checkSchema, type SchemaSubject } from "../../../src/protocol/content/schema.js";

interface Booking {
  readonly when: string;
  readonly seats: readonly { readonly row: number }[];
}

const libraries: readonly [string, StandardSchema<Booking>][] = [
  ["zod", z.object({ when: z.string(), seats: z.array(z.object({ row: z.number() })) })],
  ["valibot", v.object({ when: v.string(), seats: v.array(v.object({ row: v.number() })) })],
  ["arktype", type({ when: "string", seats: type({ row: "number" }).array() })],
];

const subject: SchemaSubject = { path: "message.parts[0].data", code: "invalidParams" };

function violationsOf(schema: StandardSchema, value: unknown): FieldViolation[] {
  try {
    checkSchema(schema, value, subject);
  } catch (error) {
    return (error as { readonly violations: FieldViolation[] }).violations;
  }
  return expect.fail("it was accepted");
}

describe.each(libraries)("a schema of %s", (_, schema) => {
  it("a schema gives the checked value", () => {
    const booking = { when: "today", seats: [{ row: 1 }] };
    expect(checkSchema(schema, booking, subject)).toEqual(booking);
  });

  it("a schema reports each violation with the path of its field", () => {
    const violations = violationsOf(schema, { when: 5, seats: [{ row: 1 }, { row: "2" }] });
    expect(new Set(violations.map(({ field }) => field))).toEqual(
      new Set(["message.parts[0].data.seats[1].row", "message.parts[0].data.when"]),
    );
  });

  it("a schema reports a value of the wrong kind at its own path", () => {
    expect(violationsOf(schema, 5)).toMatchObject([{ field: "message.parts[0].data" }]);
  });
});

it("what a schema makes of the value has its type", () => {
  const part = data({ at: "2026-03-04T05:06:07Z", n: "12" });
  const zodMade = dataOf(part, z.object({ at: z.coerce.date(), n: z.coerce.number() }));
  expectTypeOf(zodMade).toEqualTypeOf<{ at: Date; n: number }>();
  const valibotMade = dataOf(part, v.object({ n: v.pipe(v.string(), v.transform(Number)) }));
  expectTypeOf(valibotMade).toEqualTypeOf<{ n: number }>();
  const arktypeMade = dataOf(part, type({ n: "string.numeric.parse" }));
  expectTypeOf(arktypeMade).toEqualTypeOf<{ n: number }>();
  expect([zodMade.at.getTime(), valibotMade.n, arktypeMade.n]).toEqual([1_772_600_767_000, 12, 12]);
});

it.each<[string, StandardSchema]>([
  ["zod", z.string().refine(async () => true)],
  [
    "valibot",
    v.pipeAsync(
      v.string(),
      v.checkAsync(async () => false),
    ),
  ],
])("an asynchronous schema of %s is refused", (vendor, schema) => {
  expect(() => checkSchema(schema, "x", subject)).toThrow(
    new TypeError(`schema must be synchronous: that of ${vendor} returns a promise`),
  );
});

it("a promise of a schema that rejects is not left unhandled", async () => {
  const schema = v.pipeAsync(
    v.string(),
    v.checkAsync(() => Promise.reject(new Error("the service is away"))),
  );
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    expect(() => checkSchema(schema, "x", subject)).toThrow(TypeError);
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", note);
  }
  expect(unhandled).toEqual([]);
});

it.each([[{ parse: () => 1 }], [{ "~standard": {} }], [null], ["string"]])("%j is no schema", (schema) => {
  expect(() => checkSchema(schema as unknown as StandardSchema, 1, subject)).toThrow(
    new TypeError("schema must be a Standard Schema, such as those of zod, valibot and arktype"),
  );
});

it("a violation on the caller's side is an invalid answer of the agent", () => {
  expect(() =>
    checkSchema(z.string(), 1, { path: "artifacts[0].parts[2].data", code: "invalidAgentResponse" }),
  ).toThrow(
    expect.objectContaining({
      code: "invalidAgentResponse",
      message: expect.stringMatching(
        /^the agent's answer is not as expected: artifacts\[0\]\.parts\[2\]\.data does not match its schema: /,
      ),
      violations: [expect.objectContaining({ field: "artifacts[0].parts[2].data" })],
    }),
  );
});

it("violations are limited in number and in length, since a caller chooses what they repeat", () => {
  const many = violationsOf(z.array(z.string()), Array.from({ length: 1000 }).fill(1));
  expect(many).toHaveLength(20);
  const [long] = violationsOf(z.strictObject({}), { ["x".repeat(10_000)]: 1 });
  expect(long?.description.length).toBeLessThan(400);
});
