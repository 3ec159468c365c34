const tables = [
  "tasks",
  "snapshots",
  "log",
  "inbox",
  "instances",
  "sends",
  "push_configs",
  "counts",
  "periods",
  "contexts",
  "conversations",
  "context_values",
];

/** Empties the store's tables. */
export const emptyTables = tables.map((name) => `delete from trivium_${name}`).join(";");
