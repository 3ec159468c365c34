const form = /^[\w!#$%&'*+.^`|~-]+$/;

/** Whether a text is an HTTP token, such as the name of a header or an authentication scheme (RFC 9110 §5.6.2). */
export function isHttpToken(text: string): boolean {
  return form.test(text);
}
