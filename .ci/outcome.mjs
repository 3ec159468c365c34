// What came of the commands whose logs, exit codes and reports are in a folder: says why what failed did, names what was
// skipped, and counts. A command without a report is one test, and so is a run that fails with no test to blame.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const logLines = 100;
/** How many characters of a failure are repeated at the end, where a log that was cut still has them. */
const reasonLength = 1500;
const folder = process.argv[2];
const say = (line) => process.stdout.write(`${line}\n`);
const total = { passed: 0, failed: 0, skipped: 0 };

for (const file of readdirSync(folder).filter((name) => name.endsWith(".log"))) {
  const name = file.slice(0, -".log".length);
  const within = (kind) => join(folder, `${name}.${kind}`);
  // Without its exit code it was under way when all ended.
  const isOver = existsSync(within("status"));
  const succeeded = isOver && Number(readFileSync(within("status"), "utf8")) === 0;
  const isLate = !isOver || existsSync(within("late"));
  const hasReport = existsSync(within("json"));
  const tests = hasReport ? testsOf(within("json")) : [];
  if (!hasReport && !isLate) tests.push({ title: name, status: succeeded ? "passed" : "failed" });
  if (isLate && tests.every(({ status }) => status !== "pending")) tests.push({ title: name, status: "pending" });
  // A test that is pending at the end was under way when its process went.
  const failed = tests.filter(({ status }) => status === "failed" || status === "pending");
  const passed = tests.filter(({ status }) => status === "passed");
  const skipped = tests.filter((test) => !failed.includes(test) && !passed.includes(test));
  if (!succeeded && failed.length === 0) failed.push({ title: name, status: "failed" });
  if (failed.length > 0) say(`\n${endOf(name)}\n`);
  for (const { title, status, reason = "" } of failed) {
    say(`${status === "failed" ? "FAILED" : "DID NOT END"} ${title}${reason && `\n${reason}`}`);
  }
  for (const { title } of skipped) say(`SKIPPED ${title}`);
  total.passed += passed.length;
  total.failed += failed.length;
  total.skipped += skipped.length;
}
say(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 ? 0 : 1;

function testsOf(report) {
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status, failureMessages = [] }) => {
      const reason = failureMessages.join("\n").slice(0, reasonLength);
      return { title: `${name} > ${fullName}`, status, reason };
    }),
  );
}

/** The end of a log: from where vitest tells of failures on, where it does. */
function endOf(name) {
  const lines = readFileSync(join(folder, `${name}.log`), "utf8")
    .trimEnd()
    .split("\n");
  const from = lines.findIndex((line) => /Failed (?:Tests|Suites)|Unhandled Errors?/.test(line));
  return (from < 0 ? lines.slice(-logLines) : lines.slice(from, from + logLines)).join("\n");
}
