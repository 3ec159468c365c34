const form = /^[\w!#$%&'*+.^`|~-]+$/;

/** Whether a text is a token of HTTP, as names of headers and of authentication schemes are (RFC 9110 §5.6.2). */
export function isHttpToken(text: string): boolean {
  return form.test(text);
}
