import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import { describeCause, type Finding, findings } from "./finding.js";

const day = 86_400_000;
const soonDays = 14;

/** Checks the certificate of an HTTPS address: its chain, its names and its expiry. */
export async function checkTls(
  { hostname, port }: URL,
  timeoutMs: number,
  tls: ClientTls = {},
): Promise<readonly Finding[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  let socket: TLSSocket;
  try {
    socket = await connectTls({ ...tls, host, port: Number(port || 443) }, timeoutMs);
  } catch (error) {
    return [findings("tls").failed(`no handshake: ${describeCause(error)}`, remedyFor(error))];
  }
  const certificate = socket.getPeerCertificate(true);
  // Not an `Error`, as its type says: Node sets the code of OpenSSL.
  const problem = socket.authorizationError as unknown;
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : String(problem ?? "");
  socket.destroy();
  return [chainFinding(code), checkHostName(host, certificate), expiryFinding(certificate)];
}

function remedyFor(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return "check the name in the URL, and that this machine can resolve it";
  if (/^(?:ECONNREFUSED|EHOST|ENET|ETIMEDOUT)/.test(code)) {
    return "check that the server runs, and that firewalls let this machine reach its port";
  }
  return /client certificate/.test(describeCause(error))
    ? "give the certificate that the server expects: --cert and --key"
    : "check that the port speaks TLS 1.2 or 1.3";
}

interface Address extends ClientTls {
  readonly host: string;
  readonly port: number;
}

function connectTls(address: Address, timeoutMs: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // The caller checks the certificate, and nothing is sent.
    const servername = /^[\d.]+$|:/.test(address.host) ? undefined : address.host;
    const socket = connect({
      ...address,
      ...(servername && { servername }),
      rejectUnauthorized: false,
      timeout: timeoutMs,
    });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("timeout", () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    socket.once("error", reject);
  });
}

function chainFinding(code: string): Finding {
  const { ok, warning, failed } = findings("tls chain");
  switch (code) {
    case "":
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return ok("leads to a certificate authority that this machine trusts");
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return warning(
        "cannot be judged while a certificate in it is not valid",
        "see tls expiry; if that is ok, renew the intermediate certificates",
      );
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return failed(
        "the authority that issued the certificate is unknown here",
        "serve the intermediate certificates as well (fullchain.pem); for an authority of your own set NODE_EXTRA_CA_CERTS",
      );
    default:
      return failed(
        `not trusted here: ${code}`,
        "use a certificate of a known authority, or let callers trust yours: --ca, NODE_EXTRA_CA_CERTS, or tls.ca of the client",
      );
  }
}

function checkHostName(host: string, certificate: PeerCertificate): Finding {
  const { ok, failed } = findings("tls names");
  const mismatch = checkServerIdentity(host, certificate);
  const names = certificate.subjectaltname ?? "none";
  if (mismatch === undefined) return ok(`the certificate is for ${host}`);
  return failed(`the certificate is not for ${host}, but for ${names}`, `issue one with ${host} among its names`);
}

function expiryFinding(certificate: PeerCertificate): Finding {
  const { ok, warning, failed } = findings("tls expiry");
  const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / day);
  const begins = Date.parse(certificate.valid_from);
  if (begins > Date.now()) {
    return failed(`valid from ${certificate.valid_from} on`, "wait, or check the clock of this machine");
  }
  if (days < 0) return failed(`expired on ${certificate.valid_to}`, "renew the certificate and reload the server");
  const validity = `valid until ${certificate.valid_to}, for ${days} days`;
  return days < soonDays ? warning(validity, "renew it, and automate the renewal") : ok(validity);
}
