/** `util.inspect`, as Node, Bun and Deno pass it to an object's own inspection. */
export type Inspect = (value: unknown, options: object) => string;

/** Shows an object by what can be read of it, for `console.log`. Leaves out what is not there. */
export function inspectWith(
  name: string,
  members: Readonly<Record<string, unknown>>,
  options: object,
  inspect: Inspect,
): string {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  return `${name} ${inspect(Object.fromEntries(entries), options)}`;
}
