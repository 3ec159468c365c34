#!/usr/bin/env node
import type { DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { createEcmaScriptPlugin, runNodeJs } from "@bufbuild/protoplugin";

// A plugin of `buf generate`: writes beside a service's `_pb.ts` what its files declare as plain data, `_outline.ts`.
// `src/protocol/codec/outline/outline.ts` makes descriptors of it without the binary form of descriptors, which is most of
// what a page would have to load otherwise. One import of a `_pb` schema, or of `toBinary`, `fromJson` or `equals` of
// protobuf-es, costs the browser's client up to 12 kB.
// `_names.ts` has the full names of services and messages, one constant each: a bundle keeps those that it uses.

const httpOption = 72_295_728;
const behaviorOption = 1052;
const requiredBehavior = 2;
const stringType = 9;

runNodeJs(
  createEcmaScriptPlugin({
    name: "protoc-gen-outline",
    version: "v1",
    generateTs(schema) {
      for (const file of schema.files) {
        // No page loads the services of gRPC itself.
        if (file.services.length === 0 || file.proto.package.startsWith("grpc.")) continue;
        const outlineFile = schema.generateFile(`${file.name}_outline.ts`);
        outlineFile.preamble(file);
        outlineFile.print("export const files = [");
        for (const dependency of filesOf(file)) outlineFile.print(outlineOf(dependency));
        outlineFile.print("] as const;");
        const namesFile = schema.generateFile(`${file.name}_names.ts`);
        namesFile.preamble(file);
        for (const { name, typeName } of [...file.services, ...file.messages]) {
          namesFile.print(`export const ${name} = "${typeName}" as const;`);
        }
      }
    },
  }),
);

/** The files that have types which a service needs, each behind those that it imports. */
function filesOf(file: DescFile, files: Set<DescFile> = new Set()): ReadonlySet<DescFile> {
  for (const dependency of file.dependencies) {
    if (dependency.proto.package !== "google.api") filesOf(dependency, files);
  }
  return files.add(file);
}

function outlineOf(file: DescFile): string {
  if (file.proto.syntax !== "proto3") throw new Error(`${file.name}: only proto3 can be outlined`);
  const members = ({ name, values }: DescFile["enums"][number]) =>
    entry(name, Object.fromEntries(values.map((value) => [value.name, value.number])));
  const lines = [
    `  {`,
    `    name: ${JSON.stringify(file.proto.name)},`,
    `    package: ${JSON.stringify(file.proto.package)},`,
    `    imports: ${JSON.stringify(file.dependencies.filter(({ proto }) => proto.package !== "google.api").map(({ proto }) => proto.name))},`,
    `    enums: {`,
    ...file.enums.map(members),
    `    },`,
    `    messages: {`,
    ...file.messages.map((message) => entry(message.name, fieldsOf(message))),
    `    },`,
    `    services: {`,
    ...file.services.map(({ name, methods }) => entry(name, methods.map(methodOf))),
    `    },`,
    `  },`,
  ];
  return lines.join("\n");
}

function entry(name: string, value: unknown): string {
  return `      ${name}: ${JSON.stringify(value)},`;
}

function fieldsOf({ fields, nestedMessages, nestedEnums, typeName, file }: DescMessage): unknown[] {
  if (nestedMessages.length + nestedEnums.length > 0) throw new Error(`${typeName}: nested types cannot be outlined`);
  return fields.map((field) => {
    const { proto, oneof } = field;
    const ownJsonName = proto.jsonName === camelCase(field.name) ? "" : proto.jsonName;
    const outline = [field.name, field.number, typeOf(field, file), marksOf(field), oneof?.name ?? "", ownJsonName];
    while (outline.at(-1) === "") outline.pop();
    return outline;
  });
}

/** The number of a scalar type, or the name of a message or an enum. */
function typeOf(field: DescField, { proto }: DescFile): number | string {
  const { message, enum: words, scalar } = field;
  const typeOfField = message ?? words;
  if (field.fieldKind === "map" && field.mapKey !== stringType) throw new Error(`${field}: its keys are no strings`);
  if (typeOfField === undefined) return scalar ?? 0;
  return typeOfField.file.proto.package === proto.package ? typeOfField.name : `.${typeOfField.typeName}`;
}

/** `o` optional, `l` list, `m` map, `r` required, `d` deprecated. */
function marksOf(field: DescField): string {
  const behaviors = field.proto.options?.$unknown?.filter(({ no }) => no === behaviorOption) ?? [];
  return [
    field.proto.proto3Optional ? "o" : "",
    field.fieldKind === "list" ? "l" : "",
    field.fieldKind === "map" ? "m" : "",
    behaviors.some(({ data }) => data.at(-1) === requiredBehavior) ? "r" : "",
    field.deprecated ? "d" : "",
  ].join("");
}

/** Name, input, output, `s` when it streams, and the bytes of its HTTP rule as characters. */
function methodOf(method: DescMethod): unknown[] {
  const { name, input, output, methodKind, parent, proto } = method;
  if (methodKind !== "unary" && methodKind !== "server_streaming") throw new Error(`${method}: it cannot be outlined`);
  const rule = proto.options?.$unknown?.find(({ no }) => no === httpOption)?.data ?? [];
  const nameIn = (message: DescMessage) =>
    message.file.proto.package === parent.file.proto.package ? message.name : `.${message.typeName}`;
  return [
    name,
    nameIn(input),
    nameIn(output),
    methodKind === "server_streaming" ? "s" : "",
    String.fromCharCode(...rule),
  ];
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, payload: string) => payload.toUpperCase());
}
