// A program that calls an agent, and says which versions' code that has loaded.
import { registerHooks } from "node:module";

const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const version = /\/version\/v([\d.]+)\//.exec(url)?.[1];
    if (version !== undefined) loaded.add(version);
    return next(url, context);
  },
});

const { Client } = await import("trivium");
const [url] = process.argv.slice(2);
const client = await Client.connect(url);
await client.send("go");
await client.close();
process.stdout.write(JSON.stringify({ spoken: client.connection.version, loaded: [...loaded].sort() }));
