const unitTable: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration such as `30d`, `12h`, `90m`, `45s` or `500ms`; `undefined` for any other text. */
export function durationMs(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = unitTable[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}
