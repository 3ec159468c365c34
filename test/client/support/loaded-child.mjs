// A program that calls an agent, and says which versions' code that has loaded.
import { watchLoading } from "../../support/loaded-sources.mjs";

const sources = watchLoading();
const { Client } = await import("trivium");
const [url] = process.argv.slice(2);
const client = await Client.connect(url);
await client.send("go");
await client.close();
const loaded = new Set([...sources].flatMap((source) => /^version\/v([\d.]+)\//.exec(source)?.[1] ?? []));
process.stdout.write(JSON.stringify({ spoken: client.connection.version, loaded: [...loaded].sort() }));
