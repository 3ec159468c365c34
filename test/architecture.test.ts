import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { rules } from "./support/architecture.js";
import { parseSource } from "./support/source-file.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const paths = globSync("{src,examples}/**/*.ts", { cwd: root }).map((path) => path.replaceAll("\\", "/"));
const files = paths.map((path) => parseSource(path, readFileSync(`${root}/${path}`, "utf8")));

describe("the source", () => {
  it("the source is there", () => {
    expect(paths).toEqual(expect.arrayContaining(["src/core/ports.ts", "examples/demo/agent.ts"]));
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length);
  });

  it.each(Object.entries(rules))("the source keeps to its architecture: %s", (_, rule) => {
    const breaches = rule(files).map(({ path, line, rule }) => `${path}:${line} ${rule}`);
    expect(breaches, breaches.join("\n")).toEqual([]);
  });
});

/** Sample files and the violations that each rule must find in them. */
const samples: readonly {
  readonly rule: keyof typeof rules;
  readonly files: Readonly<Record<string, string>>;
  readonly offenses: readonly string[];
}[] = [
  {
    rule: "imports point to the left",
    files: {
      "src/protocol/a.ts": 'import type {\n  B,\n} from "../core/b.js";\nimport { C } from "../../gen/c.js";',
      "src/core/a.ts": 'import { x } from "./b.js";\nexport { y } from "../binding/y.js";',
      "src/core/b.ts": 'import type { Client } from "../client/base-client.js";',
      "src/store/sql/a.ts": 'import { x } from "../../core/ports.js";\nimport { y } from "../../core/turn.js";',
      "src/binding/http-json/a.ts": 'import { C } from "../../../gen/c.js";',
      "src/binding/grpc/a.ts": 'import { C } from "../../../gen/c.js";\nimport { b } from "../http.js";',
      "src/client/a.ts": 'const later = () => import("../server/serve.js");',
      "src/card/a.ts": 'import { serve } from "../index.js";',
      "src/executor/a.ts": 'import type { Turn } from "../core/agent.js";\nimport { serve } from "../server/serve.js";',
      "src/unheard-of/a.ts": 'import { x } from "../protocol/x.js";',
      "src/index.ts": 'export { serve } from "./server/serve.js";\nexport { main } from "./cli/main.js";',
      "src/cli/a.ts": 'const text = `import { x } from "../server/x.js"`;\n// import { y } from "../index.js";',
    },
    offenses: [
      "src/protocol/a.ts:1",
      "src/core/a.ts:2",
      "src/core/b.ts:1",
      "src/store/sql/a.ts:2",
      "src/binding/http-json/a.ts:1",
      "src/client/a.ts:1",
      "src/card/a.ts:1",
      "src/executor/a.ts:2",
      "src/unheard-of/a.ts:1",
      "src/index.ts:2",
    ],
  },
  {
    rule: "examples know the package by its name",
    files: {
      "examples/demo/a.ts":
        'import { serve } from "trivium";\nimport { b } from "./b.js";\nimport type { C } from "../../src/core/c.js";',
      "examples/hello/a.ts": 'import { b } from "../demo/b.js";\nimport Koa from "koa";',
      "src/cli/demo.ts":
        'const load = () => import("../../examples/demo/a.js");\nimport { b } from "../../examples/demo/b.js";',
      "src/cli/call.ts": 'const load = () => import("../../examples/demo/a.js");',
      "src/core/a.ts": 'import type { B } from "../../examples/demo/b.js";\nimport { d } from "./d.js";',
    },
    offenses: [
      "examples/demo/a.ts:3",
      "examples/hello/a.ts:1",
      "src/cli/demo.ts:2",
      "src/cli/call.ts:1",
      "src/core/a.ts:1",
    ],
  },
  {
    rule: "packages stay in their room",
    files: {
      "src/server/a.ts": 'import Koa from "koa";\nimport { Server } from "@grpc/grpc-js";\nimport "jose";',
      "src/core/a.ts": 'import type { Context } from "koa";\nimport { DatabaseSync } from "node:sqlite";',
      "src/client/a.ts": 'import { trace } from "@opentelemetry/api";',
      "src/binding/grpc/a.ts": 'import * as grpc from "@grpc/grpc-js";\nimport { x } from "@connectrpc/connect";',
      "src/store/sql/a.ts": 'import pg from "pg";\nimport { Kysely } from "kysely";',
      "examples/koa-mount/a.ts": 'import Koa from "koa";',
    },
    offenses: [
      ...["src/server/a.ts:2", "src/server/a.ts:3", "src/core/a.ts:1", "src/core/a.ts:2"],
      ...["src/client/a.ts:1", "src/binding/grpc/a.ts:2"],
    ],
  },
  {
    rule: "what reaches below grpc-js lies in one folder",
    files: {
      "src/binding/grpc/a.ts":
        'import { x } from "@grpc/grpc-js/build/src/channel.js";\nimport { Server } from "@grpc/grpc-js";\nconst call = channel.createCall(path);',
      "src/binding/grpc/b.ts":
        'const f = "_setupHandlers";\n// createCall is for internals\nserver._streamHandler();\nserver.createConnectionInjector(none);',
      "src/binding/grpc/internals/a.ts": 'const f = "_setupHandlers";\nchannel.createCall(path);',
      "src/binding/listen/a.ts": 'server.removeAllListeners("stream");',
    },
    offenses: [
      "src/binding/grpc/a.ts:1",
      "src/binding/grpc/a.ts:3",
      "src/binding/grpc/b.ts:1",
      "src/binding/grpc/b.ts:3",
      "src/binding/grpc/b.ts:4",
    ],
  },
  {
    rule: "no cycle of values",
    files: {
      "src/core/a.ts": 'import { b } from "./b.js";',
      "src/core/b.ts": 'import { z } from "./z.js";\nimport { c } from "./c.js";',
      "src/core/c.ts":
        'import { a } from "./a.js";\nimport type { B } from "./b.js";\nconst b = () => import("./b.js");',
      "src/core/d.ts": 'import { E } from "./e.js";',
      "src/core/e.ts": '\nconst d = () => import("./d.js");',
      "src/core/f.ts": 'import type { G } from "./g.js";',
      "src/core/g.ts": 'import { f } from "./f.js";',
    },
    offenses: ["src/core/c.ts:1", "src/core/c.ts:3", "src/core/e.ts:2"],
  },
  {
    rule: "rooms form no circle",
    files: {
      "src/core/a/x.ts": 'import type { Y } from "../b/y.js";\nimport { z } from "./z.js";',
      "src/core/a/z.ts": 'import { x } from "./x.js";',
      "src/core/b/y.ts": 'import { c } from "../c.js";',
      "src/core/c.ts": 'import { d } from "./d.js";\nimport type { Z } from "./a/z.js";',
      "src/core/d.ts": 'import { c } from "./c.js";',
    },
    offenses: ["src/core/c.ts:2"],
  },
  {
    rule: "versions are named in their room",
    files: {
      "src/core/a.ts":
        'const old = "0.3";\n// "1.0" may stand in comments\nconst rpc = "2.0"; const own = "1.0.0";\nf(`0.2.6`);',
      "src/binding/a.ts": "if (request.httpVersion === \"1.0\") close();\nconst divided = a / b; const v = '1.0';",
      "src/version/v1.0/a.ts": 'const version = "1.0";',
      "src/executor/a.ts": 'const sdk = "0.3";',
      "examples/gateway/a.ts": 'const version = "1.0";',
    },
    offenses: ["src/core/a.ts:1", "src/core/a.ts:4", "src/binding/a.ts:2"],
  },
  {
    rule: "names of the schema are generated",
    files: {
      "src/core/a.ts":
        'const a = { $typeName: "lf.a2a.v1.Task" };\n// lf.a2a.v1.Task\nimport { b } from "../gen/a2a/v1/a2a_names.js";',
      "src/version/v0.3/a.ts": 'const a = "a2a.v1.A2AService";\nconst b = `lf.a2a.v1.` + kind;\nconst c = "a2a.v10";',
      "examples/hello/a.ts": 'const a = "lf.a2a.v1.Task";',
    },
    offenses: ["src/core/a.ts:1", "src/version/v0.3/a.ts:1", "src/version/v0.3/a.ts:2"],
  },
  {
    rule: "names of files are kebab-case",
    files: { "src/a/b/c/d/e.ts": "", "src/a/camelCase.ts": "", "src/a/v1.0/e-f.ts": "" },
    offenses: ["src/a/camelCase.ts:1"],
  },
  {
    rule: "no console",
    files: {
      "src/core/a.ts": 'const text = "console.log";\nconsole.log(text);\nmy.console.log(/console.x/);',
      "src/cli/a.ts": "console.log(1);",
      "examples/hello/a.ts": "console.log(1);",
    },
    offenses: ["src/core/a.ts:2"],
  },
  {
    rule: "no any",
    files: {
      "src/core/a.ts":
        'let a: any;\nconst b = x as any;\nconst c: Map<string, any> = d;\nAbortSignal.any([]); // any\nf("any", company);',
    },
    offenses: ["src/core/a.ts:1", "src/core/a.ts:2", "src/core/a.ts:3"],
  },
];

describe("the architecture test", () => {
  it.each(samples)("the architecture test finds the offending lines: $rule", ({ rule, files, offenses }) => {
    const parsed = Object.entries(files).map(([path, source]) => parseSource(path, source));
    expect(rules[rule](parsed).map(({ path, line }) => `${path}:${line}`)).toEqual(offenses);
  });

  it("the architecture test has a sample for each rule", () => {
    expect(new Set(samples.map(({ rule }) => rule))).toEqual(new Set(Object.keys(rules)));
  });

  it("the architecture test reads comments, templates with holes and types imported in place", () => {
    const source = [
      `const a = \`x \${f({ b: \`y \${c}\` })} // no comment\`; // one`,
      'const d = /["/\\]`]/g.test(e) ? 4 / 2 : "\\"";',
      "let g: import('./h.js').H; /* two */",
    ].join("\n");
    const { strings, comments, imports } = parseSource("src/core/a.ts", source);
    const linesOf = (texts: typeof strings) => texts.map(({ line, text }) => `${line} ${text}`);
    expect(linesOf(comments)).toEqual(["1  one", "3  two "]);
    expect(linesOf(strings).toSorted()).toEqual(
      ["1 ", "1  // no comment", "1 x ", "1 y ", '2 \\"', "3 ./h.js"].toSorted(),
    );
    expect(imports).toEqual([{ line: 3, specifier: "./h.js", kind: "type" }]);
  });

  it("the architecture test refuses a file that is no TypeScript", () => {
    expect(() => parseSource("src/core/a.ts", "const = 1;")).toThrow("src/core/a.ts: ");
  });
});
