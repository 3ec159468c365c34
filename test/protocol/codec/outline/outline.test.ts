import type { DescField, DescFile, DescMethod } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../../../../gen/a2a/v1/a2a_pb.js";
import { http } from "../../../../gen/google/api/annotations_pb.js";
import { FieldBehavior, field_behavior } from "../../../../gen/google/api/field_behavior_pb.js";
import { file_lf_a2a_v1_a2a } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { isRequired } from "../../../../src/protocol/codec/outline/dynamic.js";
import { fileFromOutlines } from "../../../../src/protocol/codec/outline/outline.js";
import { httpRoutes } from "../../../../src/protocol/http-routes.js";
import { A2AService } from "../../../../src/protocol/model.js";
import { operations } from "../../../../src/protocol/operations.js";
import { A2AService as OldService } from "../../../../src/version/v0.3/proto/model.js";

const schemas = [
  { name: "1.0", outlined: A2AService.file, whole: file_lf_a2a_v1_a2a, required: 60 },
  { name: "0.3", outlined: OldService.file, whole: file_a2a_v1_a2a, required: 7 },
];

// Types that a field refers to are replaced by their names, so that the two schemas are comparable.
function saidOfField(field: DescField): object {
  const { proto, parent, message, enum: words, oneof, getDefaultValue, toString: _, ...rest } = { ...field } as Entries;
  const named = [parent, message, words, oneof].map((to) => (to === undefined ? "none" : String(to)));
  return { ...rest, named, zero: field.fieldKind === "scalar" ? field.getDefaultValue() : undefined };
}

type Entries = { readonly [K in string]?: unknown };

function saidOfMethod({ name, localName, methodKind, input, output, idempotency, deprecated }: DescMethod): object {
  return { name, localName, methodKind, input: input.typeName, output: output.typeName, idempotency, deprecated };
}

function saidOf(file: DescFile): object {
  return {
    name: file.name,
    edition: file.edition,
    messages: file.messages.map((message) => ({
      typeName: message.typeName,
      fields: message.fields.map(saidOfField),
      byName: Object.keys(message.field),
      members: message.members.map(({ kind, localName }) => `${kind} ${localName}`),
      oneofs: message.oneofs.map(({ name, fields }) => [name, fields.map(({ number }) => number)]),
    })),
    enums: file.enums.map(({ typeName, open, sharedPrefix, values }) => ({
      ...{ typeName, open, sharedPrefix },
      values: values.map(({ name, number, localName, jsonName }) => ({ name, number, localName, jsonName })),
    })),
    services: file.services.map(({ typeName, methods }) => ({ typeName, methods: methods.map(saidOfMethod) })),
  };
}

describe.each(schemas)("descriptors made of the outline of $name", ({ outlined, whole, required: count }) => {
  it("descriptors made of an outline describe the service and its messages exactly as the whole schema does", () => {
    expect(outlined.messages.length).toBeGreaterThan(40);
    expect(saidOf(outlined)).toEqual(saidOf(whole));
  });

  it("descriptors made of an outline describe the types of protobuf exactly as the whole schema does", () => {
    const own = outlined.dependencies;
    const originals = whole.dependencies.filter(({ name }) => own.some((file) => file.name === name));
    expect(own.map(({ name }) => name)).toEqual(originals.map(({ name }) => name));
    expect(own.map(saidOf)).toEqual(originals.map(saidOf));
  });

  it("descriptors made of an outline require the fields that the schema calls required, and no other", () => {
    const named = (file: DescFile, test: (field: DescField) => boolean) =>
      file.messages.flatMap(({ fields }) => fields.filter(test).map(String));
    const required = named(whole, (field) => getOption(field, field_behavior).includes(FieldBehavior.REQUIRED));
    expect(required.length).toBeGreaterThanOrEqual(count);
    expect(named(outlined, isRequired)).toEqual(required);
    expect(named(whole, isRequired)).toEqual(required);
  });
});

describe("descriptors made of an outline", () => {
  it("descriptors made of an outline have the JSON names that a schema gives its fields", () => {
    const named = OldService.file.messages.flatMap(({ fields }) =>
      fields
        .filter(({ jsonName, localName }) => jsonName !== localName)
        .map((field) => `${field.parent.name}.${field.name}`),
    );
    expect(named).toEqual([
      "TaskStatus.update",
      "SendMessageRequest.request",
      "SendMessageResponse.msg",
      "StreamResponse.msg",
    ]);
  });

  it("descriptors made of an outline have the HTTP rules of the schema", () => {
    const routes = httpRoutes(operations).map(
      ({ operation, verb, segments, suffix, hasBody }) =>
        `${operation.name} ${verb} /${segments.map((at) => ("field" in at ? `{${at.field}}` : at.literal)).join("/")}${suffix} ${hasBody ? "*" : ""}`,
    );
    const meant = file_lf_a2a_v1_a2a.services
      .flatMap(({ methods }) => methods)
      .flatMap((method) => {
        const rule = getOption(method, http);
        return [rule, ...rule.additionalBindings].map(({ pattern, body }) => {
          const path = String(pattern.value)
            .replaceAll("=*", "")
            .replace(
              /\{(\w+)\}/g,
              (_, name: string) => `{${method.input.fields.find((f) => f.name === name)?.jsonName}}`,
            );
          return `${method.localName} ${pattern.case?.toUpperCase()} ${path} ${body}`;
        });
      });
    expect(meant.length).toBeGreaterThan(20);
    expect(routes.toSorted()).toEqual(meant.toSorted());
  });

  it("descriptors cannot be made of nothing", () => {
    expect(() => fileFromOutlines([])).toThrow(TypeError);
  });
});
