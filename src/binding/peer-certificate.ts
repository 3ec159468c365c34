import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "../protocol/context.js";

/** The client certificate of a connection; `undefined` without TLS, and when the client has shown none. */
export function findCertificate(socket: Socket | TLSSocket): PeerCertificate | undefined {
  if (!("encrypted" in socket) || !socket.authorized) return undefined;
  return parseCertificate(socket.getPeerX509Certificate()?.raw);
}

/** A certificate in DER that TLS has verified. */
export function parseCertificate(raw: Uint8Array | undefined): PeerCertificate | undefined {
  if (raw === undefined) return undefined;
  const { subject, subjectAltName } = new X509Certificate(raw);
  return { subject: subject.trim().replaceAll("\n", ","), names: subjectAltName?.split(", ") ?? [], raw };
}
