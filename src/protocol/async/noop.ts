/** Does nothing, with any arguments. */
export function noop(): void {}
