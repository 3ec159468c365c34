import { describe, expect, it } from "vitest";
import { columnFigures, tableFromCsv, tableFromJson } from "../../../examples/demo/table-figures.js";
import { UnreadableFile } from "../../../examples/demo/unreadable-file.js";

const namesAndValues = (csv: string) => tableFromCsv(csv).columns.map(({ name, values }) => [name, ...values]);
const figuresOf = (...values: readonly unknown[]) => columnFigures({ name: "c", values }, values.length);
const complaintOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    if (error instanceof UnreadableFile) return error.message;
    throw error;
  }
  return "no complaint";
};

describe("CSV", () => {
  it.each([
    ["nothing", "", []],
    ["blank lines only", "\n\r\n", []],
    ["a header only", "a,b\n", [["a"], ["b"]]],
    [
      "no line end at the end",
      "a,b\n1,2",
      [
        ["a", 1],
        ["b", 2],
      ],
    ],
    ["CR LF, LF and CR mixed", "a\n1\r\n2\r3", [["a", 1, 2, 3]]],
    [
      "quotes, commas and line ends in a field",
      'a,b\r\n"x, ""y""\r\nz",2\r\n',
      [
        ["a", 'x, "y"\r\nz'],
        ["b", 2],
      ],
    ],
    [
      "a line end in the header",
      '"a\nb",c\r\n1,2\r\n',
      [
        ["a\nb", 1],
        ["c", 2],
      ],
    ],
    [
      "a byte order mark",
      '\uFEFF"a",b\n1,2',
      [
        ["a", 1],
        ["b", 2],
      ],
    ],
    [
      "blank cells and lines",
      "a,b\n1,\n\n , 2 \n",
      [
        ["a", 1],
        ["b", 2],
      ],
    ],
    [
      "names missing or twice",
      "a,,a\n1,2,3",
      [
        ["a", 1],
        ["column 2", 2],
        ["a", 3],
      ],
    ],
    ["the name __proto__", "__proto__\n1", [["__proto__", 1]]],
  ])("CSV with %s is read", (_case, csv, columns) => {
    expect(namesAndValues(csv)).toEqual(columns);
  });

  it.each([
    [",", "a,b;c,d\n1,2,3"],
    [";", "a, b;c;d\n1;2;3"],
    ["\t", "a, b\tc\td\n1\t2\t3"],
    [",", '"a;b;c;d",e\n1,2'],
    [",", "single\n1;2"],
  ])("CSV has its separator %j detected in %j", (separator, csv) => {
    expect(tableFromCsv(csv).separator).toBe(separator);
  });

  it.each([
    ["12", 12],
    ["-0.5", -0.5],
    [".5", 0.5],
    ["1e3", 1000],
    ["TRUE", true],
    ["false", false],
    ["007", "007"],
    ["+491234", "+491234"],
    ["1,5", "1,5"],
    ["-", "-"],
    ["e5", "e5"],
    ["1e999", "1e999"],
    ["9007199254740993", "9007199254740993"],
    ["NaN", "NaN"],
    ["yes", "yes"],
  ])("the CSV cell %s is read as %j", (cell, value) => {
    expect(tableFromCsv(`a;b\n${cell};`).columns[0]?.values).toEqual([value]);
  });

  it.each([
    ["a,b\n1,2\n1,2,3\n", "invalid CSV at line 3: the field count is 3, in the header it is 2"],
    ["a,b\n1\n", "invalid CSV at line 2: the field count is 1, in the header it is 2"],
    ['a,b\n"1,2\n3,4', "invalid CSV at line 2: a quote that is never closed"],
    ['a,b\n5" pipe,2', "invalid CSV at line 2: a quote inside a field that is not quoted"],
    ['a,b\r1\r\n,2\n"3"4,5', "invalid CSV at line 2: the field count is 1, in the header it is 2"],
    ['a,b\r1,"x\n"\r\n"3"4,5', "invalid CSV at line 4: text behind a closing quote"],
  ])("the CSV %j is unreadable, and the message names the line", (csv, message) => {
    expect(complaintOf(() => tableFromCsv(csv))).toBe(message);
  });

  it("the CSV reader complains briefly even about a huge field", () => {
    expect(complaintOf(() => tableFromCsv(`a,b\n${"x".repeat(1e6)}",2`)).length).toBeLessThan(250);
  });

  it("CSV with a quoted field of 8 MB is read without exhausting the stack", () => {
    const field = `${"x".repeat(4)}""`.repeat(1_400_000);
    expect(tableFromCsv(`a\n"${field}"`).columns[0]?.values[0]).toHaveLength(7_000_000);
    expect(complaintOf(() => tableFromCsv(`a\n"${field}`))).toBe("invalid CSV at line 2: a quote that is never closed");
  });

  it("CSV of 1 MB is read in reasonable time", () => {
    const rows = 20_000;
    const csv = `id,name,day\n${Array.from({ length: rows }, (_, i) => `${i},"name ""${i}""; with, marks",2024-01-01T00:00:00Z`).join("\n")}`;
    const table = tableFromCsv(csv);
    expect(csv.length).toBeGreaterThan(1e6);
    expect(table.columns.map((column) => columnFigures(column, table.rows).type)).toEqual(["integer", "text", "date"]);
  }, 5_000);
});

describe("JSON", () => {
  it.each([
    ["[]", "array", 0, [], 1],
    ["{}", "object", 1, [], 1],
    ["null", "scalar", 1, [["value"]], 0],
    ['"x"', "scalar", 1, [["value", "x"]], 0],
    ["[1, null, 2]", "array", 3, [["value", 1, 2]], 1],
    ['[{"a":1},{"b":null,"a":2}]', "records", 2, [["a", 1, 2], ["b"]], 2],
    [
      '{"a":1,"b":[1,[2]]}',
      "object",
      1,
      [
        ["a", 1],
        ["b", [1, [2]]],
      ],
      3,
    ],
    ['[{"a":1}, 2]', "array", 2, [["value", { a: 1 }, 2]], 2],
    [
      '\uFEFF[{"__proto__":1,"constructor":2}]',
      "records",
      1,
      [
        ["__proto__", 1],
        ["constructor", 2],
      ],
      2,
    ],
  ])("the JSON %s is read as %s", (json, shape, rows, columns, depth) => {
    const table = tableFromJson(json);
    expect(table).toMatchObject({ shape, rows, depth });
    expect(table.columns.map(({ name, values }) => [name, ...values])).toEqual(columns);
  });

  it("the JSON figures count objects, arrays and scalars at every depth", () => {
    expect(tableFromJson('{"a":[1,{"b":null},[]],"c":"x"}')).toMatchObject({
      objects: 2,
      arrays: 2,
      scalars: 3,
      depth: 3,
    });
  });

  it("the JSON figures survive documents nested deeper than the call stack", () => {
    const depth = 200_000;
    expect(tableFromJson("[".repeat(depth) + "]".repeat(depth)).depth).toBe(depth);
    expect(complaintOf(() => tableFromJson("[".repeat(depth)))).toContain("unexpected end");
  });

  it.each([
    ["", "line 1, column 1: unexpected end of the text"],
    [" \n ", "line 2, column 2: unexpected end of the text"],
    ["abc", 'line 1, column 1: unexpected "a"'],
    ['{"a": abc}', 'line 1, column 7: unexpected "a"'],
    ['{\n  "a": 1,\n}', 'line 3, column 1: unexpected "}"'],
    ["[1, 2", "line 1, column 6: unexpected end of the text"],
    ["[1,]", 'line 1, column 4: unexpected "]"'],
    ["[1}", 'line 1, column 3: unexpected "}"'],
    ["{1: 2}", 'line 1, column 2: unexpected "1"'],
    ['{"a" 1}', 'line 1, column 6: unexpected "1"'],
    ['{"a": }', 'line 1, column 7: unexpected "}"'],
    ['{"a": ]', 'line 1, column 7: unexpected "]"'],
    ["[1] 2", 'line 1, column 5: unexpected "2"'],
    ["01", 'line 1, column 2: unexpected "1"'],
    ["True", 'line 1, column 1: unexpected "T"'],
    ['["a\nb"]', 'line 1, column 2: unexpected "\\""'],
    ["['a']", 'line 1, column 2: unexpected "\'"'],
    ["😀", 'line 1, column 1: unexpected "😀"'],
  ])("the JSON %j is unreadable, and the message names the place", (json, place) => {
    expect(complaintOf(() => tableFromJson(json))).toBe(`invalid JSON at ${place}`);
  });

  it("the JSON figures keep a million different keys from costing a million columns per row", () => {
    const json = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ [`key ${i}`]: i })));
    expect(tableFromJson(json).columns).toHaveLength(50_000);
  }, 5_000);
});

describe("a column", () => {
  it.each([
    ["integer", [1, 2]],
    ["number", [1, 2.5]],
    ["boolean", [true, false]],
    ["date", ["2024-02-29", "2024-01-01T10:00:00+02:00"]],
    ["text", ["a", "2024-02-30"]],
    ["nested", [[1], {}]],
    ["mixed", [1, "a"]],
    ["mixed", [true, 1]],
    ["empty", []],
    ["text", ["12", "true"]],
    ["text", [Number.POSITIVE_INFINITY]],
  ])("a column is of type %s with values %j", (type, values) => {
    expect(figuresOf(...values).type).toBe(type);
  });

  it.each([
    [[3, 1, 2.5], { kind: "number", min: 1, max: 3, mean: 2.166666667 }],
    [[0.1, 0.2], { kind: "number", min: 0.1, max: 0.2, mean: 0.15 }],
    [[1.7e308, 1.7e308], { kind: "number", min: 1.7e308, max: 1.7e308, mean: 1.7e308 }],
    [
      ["2024-03-01", "2023-12-31T23:00-02:00", "2024-01-01"],
      { kind: "date", earliest: "2024-01-01", latest: "2024-03-01" },
    ],
    [[true, true, false], { kind: "boolean", true: 2, false: 1 }],
    [["", "👍", "ab", "ab"], { kind: "text", minLength: 0, maxLength: 2, distinct: 3 }],
    [[1, "abc", [1]], { kind: "text", minLength: 1, maxLength: 3, distinct: 2 }],
    [[[1, 2], {}, { a: 1 }], { kind: "nested", minItems: 0, maxItems: 2 }],
  ])("a column of %j has its range", (values, range) => {
    expect(figuresOf(...values).range).toEqual(range);
  });

  it("a column without values has no range, and all of them missing", () => {
    expect(columnFigures({ name: "c", values: [] }, 3)).toEqual({ name: "c", type: "empty", values: 0, missing: 3 });
  });

  it("a column stops telling distinct values apart above a thousand", () => {
    const texts = Array.from({ length: 1001 }, (_, i) => `t${i}`);
    expect(figuresOf(...texts.slice(1)).range).toHaveProperty("distinct", 1000);
    expect(figuresOf(...texts).range).not.toHaveProperty("distinct");
  });
});
