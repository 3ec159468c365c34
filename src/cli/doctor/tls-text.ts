/** Texts of OpenSSL and their meanings. The first match counts. */
const meanings: readonly (readonly [said: RegExp, meaning: string])[] = [
  [/wrong version number|packet length too long|http request|record layer failure/i, "the port does not speak TLS"],
  [/certificate required|peer did not return a certificate/i, "the server requires a client certificate"],
  [/unknown ca/i, "the server does not know the authority of the client certificate"],
  [
    /bad certificate|certificate unknown|certificate expired|certificate revoked/i,
    "the server refuses the client certificate",
  ],
  [
    /protocol version|unsupported protocol|version too low/i,
    "the server and this machine have no version of TLS in common",
  ],
  [
    /no shared cipher|no ciphers|handshake failure/i,
    "the server and this machine have no cipher in common, or the server requires a client certificate",
  ],
  [/unrecognized name/i, "the server has no certificate for this name"],
  [/unexpected eof/i, "the connection was closed during the handshake"],
];

/** An error of OpenSSL within the message of another error: library, function, reason, file and line. */
const raw =
  /(?:\b\w+ EPROTO )?(?:\b[0-9A-F]+:)?error:[0-9A-F]+:[^:\n]*:[^:\n]*:([^:\n]+)(?::[^:\n]*:\d+:?[^\n]*)?\s*/gi;

/** Replaces errors of OpenSSL in a text by their meanings. */
export function readableTls(text: string): string {
  return text.replace(
    raw,
    (_, reason: string) => meanings.find(([said]) => said.test(reason))?.[1] ?? `TLS failed: ${reason.trim()}`,
  );
}
