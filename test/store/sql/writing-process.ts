import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { appendTo, newTask } from "../../../src/testing/contract/fixtures.js";

// A process that writes to the given file and prints what was acknowledged: `count` appends, or without end.

const [path = "", id = "", count = "0"] = process.argv.slice(2);
const store = sqliteStore({ path });
let head = await store.create(newTask({ id }));
process.stdout.write(`${head.seq}\n`);
for (let round = 0; count === "0" || round < Number(count); round += 1) {
  await store.append(appendTo(head));
  head = { ...head, seq: head.seq + 1 };
  process.stdout.write(`${head.seq}\n`);
}
