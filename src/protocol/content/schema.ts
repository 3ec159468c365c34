import { noop } from "../async/noop.js";
import { A2AError, type FieldViolation, invalidParams } from "../errors.js";
import { isObject } from "../kinds.js";
import { violationText } from "../violations.js";

// The part of Standard Schema 1 that is called here: the method by which schema libraries validate a value.

/** A synchronous schema of zod, valibot, arktype or any other library that implements Standard Schema 1. */
export interface StandardSchema<Output = unknown> {
  /** The schema by the interface that all of these libraries share. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
}

/** The result of a schema: the checked value, or the issues that it found. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** An issue that a schema found, with its place in the value. */
export interface SchemaIssue {
  /** The schema's message about the value. */
  readonly message: string;
  /** Path in the value, from its root. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * The code for content that does not fit: `invalidParams` if a caller sent it, `invalidAgentResponse` if an agent did.
 */
export type ContentErrorCode = "invalidParams" | "invalidAgentResponse";

/** A value to be checked: its path within what the peer sent, and the code of the error if it does not fit. */
export interface SchemaSubject {
  readonly path: string;
  readonly code: ContentErrorCode;
}

const issuesMax = 20;
const issueMaxLength = 300;

/**
 * Returns the value as the schema makes it. Throws an `A2AError` with the path of every violation, and a `TypeError`
 * for an asynchronous schema.
 */
export function checkSchema<T>(schema: StandardSchema<T>, value: unknown, { path, code }: SchemaSubject): T {
  assertSchema(schema);
  const { validate, vendor } = schema["~standard"];
  const result = validate(value);
  if ("then" in result) {
    result.then(noop, noop);
    throw new TypeError(`schema must be synchronous: that of ${vendor} returns a promise`);
  }
  if (result.issues === undefined) return result.value;
  // Some libraries give lists of classes of their own, which cannot be mapped.
  const violations = [...result.issues].slice(0, issuesMax).map((issue) => ({
    field: path + Array.from(issue.path ?? [], segment).join(""),
    description: `does not match its schema: ${issue.message.slice(0, issueMaxLength)}`,
  }));
  throw contentError(code, ...violations);
}

/** Throws a `TypeError` for what is no schema. */
function assertSchema(schema: unknown): asserts schema is StandardSchema {
  const members = isSchemaLike(schema) ? Reflect.get(schema, "~standard") : undefined;
  if (isSchemaLike(members) && typeof Reflect.get(members, "validate") === "function") return;
  throw new TypeError("schema must be a Standard Schema, such as those of zod, valibot and arktype");
}

/** Creates the error about content that a peer sent. Its message names the first violation. */
export function contentError(code: ContentErrorCode, ...violations: readonly FieldViolation[]): A2AError {
  if (code === "invalidParams") return invalidParams(...violations);
  const first = violations.slice(0, 1).map(violationText).join("");
  return new A2AError(code, `the agent's answer is not as expected: ${first}`, { violations });
}

function segment(step: PropertyKey | { readonly key: PropertyKey }): string {
  const key = typeof step === "object" ? step.key : step;
  return typeof key === "number" ? `[${key}]` : `.${String(key).slice(0, issueMaxLength)}`;
}

// The schemas of arktype are functions.
function isSchemaLike(value: unknown): value is object {
  return isObject(value) || typeof value === "function";
}
