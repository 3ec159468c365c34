import { readFileSync } from "node:fs";

const pem = (name: string): string => readFileSync(new URL(`./tls/${name}.pem`, import.meta.url), "utf8");

/** A certificate for localhost, signed by itself. */
export const localTls = { key: pem("key"), cert: pem("cert") };
