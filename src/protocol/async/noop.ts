/** Does nothing, whatever it is given. */
export function noop(): void {}
