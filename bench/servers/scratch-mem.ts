import { appendFileSync, writeFileSync } from "node:fs";
import "./ours-guarded.ts";
writeFileSync("/tmp/mem.txt", "");
let t = 0;
setInterval(() => { const m = process.memoryUsage(); t += 5; appendFileSync("/tmp/mem.txt", [t, m.rss, m.heapTotal, m.heapUsed, m.external, m.arrayBuffers].map((x, i) => i ? (x / 1e6).toFixed(0) : x).join(" ") + "\n"); }, 5000).unref();
