import { readFileSync } from "node:fs";

const pem = (name: string): string => readFileSync(new URL(`./tls/${name}.pem`, import.meta.url), "utf8");

/** A self-signed certificate for localhost. */
export const localTls = { key: pem("key"), cert: pem("cert") };
