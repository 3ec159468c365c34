import { spawn } from "node:child_process";
import { owned } from "./owned.ts";

// A process that owns others, which owned.test.ts ends: one program, and a group whose leader has ended.

const [, , folder] = process.argv;
const one = owned(spawn("sleep", ["600"], { stdio: "ignore" }), { until: "process", folder });
const script = ["-c", "sleep 600 & echo $!"];
const leader = spawn("sh", script, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
owned(leader, { group: true });
leader.stdout.once("data", (follower: Buffer) => process.stdout.write(`${one.pid} ${String(follower)}`));
