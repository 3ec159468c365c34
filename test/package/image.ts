import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { owned } from "../support/owned.js";

// Does what a Dockerfile says, without Docker: each stage is a folder that lies over the files of this machine, whose own
// state stays as it is. Node and npm are where Debian's image of Node has them, and nowhere else.

/** Whether this process may lay folders over each other: as root on Linux, outside of most containers. */
export const mayLayer = tryLayer();

if (!mayLayer) process.stderr.write("no overlay can be mounted: the test of the image is left out (it needs root)\n");

function tryLayer(): boolean {
  const overlay = "mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work /tmp/root";
  const script = `mount -t tmpfs tmpfs /tmp && mkdir /tmp/upper /tmp/work /tmp/root && ${overlay}`;
  try {
    execFileSync("unshare", ["--mount", "--pid", "--fork", "sh", "-c", script], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

export interface ImageOptions {
  readonly dockerfile: string;
  /** The folder of the build. */
  readonly context: string;
  /** What stays out of it, as `.dockerignore` says. */
  readonly ignored: string;
  /** Files that every stage has, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** The environment that the container gets beside that of its image. */
  readonly env: Readonly<Record<string, string>>;
}

/** How a container has ended. */
interface Ended {
  /** What its steps and its program have printed. */
  readonly output: string;
  readonly code: number;
}

/** A running container, read-only except for `/tmp`, whose check of health has passed. */
export interface Container {
  /** What `probe` has printed in it. */
  readonly probed: string;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<Ended>;
}

/** Executes the steps of an image, starts it and waits until it is healthy. `probe` is a command to run in it then. */
export async function startImage(options: ImageOptions, probe: string): Promise<Container> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-image-"));
  await writeFile(join(folder, "ignored"), options.ignored);
  const script = [prelude(folder, options), ...steps(options.dockerfile).map(stepOf), finish(options, probe)].join(
    "\n",
  );
  const namespace = ["--mount", "--pid", "--fork", "--kill-child"];
  const child = owned(spawn("unshare", [...namespace, "bash", "-c", script], { stdio: ["pipe", "pipe", "pipe"] }), {
    folder,
  });
  let output = "";
  const note = (line: string): void => {
    output += `${line}\n`;
  };
  createInterface(child.stderr).on("line", note);
  const lines = createInterface(child.stdout).on("line", note);
  const ended = once(child, "close").then(async ([code]) => {
    await rm(folder, { recursive: true, force: true });
    return Number(code);
  });
  const healthy = new Promise<void>((resolve) => {
    lines.on("line", (line) => line === "healthy" && resolve());
  });
  const code = await Promise.race([healthy, ended]);
  if (code !== undefined) throw new Error(`the image ended with ${code}:\n${output}`);
  return {
    probed: output.slice(output.lastIndexOf("probe:") + 7).replace(/healthy\n$/, ""),
    async stop() {
      child.stdin.end("\n");
      return { code: await ended, output };
    },
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The instructions of a Dockerfile, one a line. */
function steps(dockerfile: string): readonly string[] {
  const lines = dockerfile.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  return lines.split("\n").filter((line) => line.trim() !== "");
}

/** Mounts, and what the base image has: users, Node and npm. */
function prelude(folder: string, { context, files }: ImageOptions): string {
  const npm = dirname(dirname(realpathSync(npmPath())));
  const copies = Object.entries(files).map(
    ([path, source]) => `mkdir -p "$base$(dirname ${quoted(path)})" && cp ${quoted(source)} "$base"${quoted(path)}`,
  );
  return `
set -euo pipefail
work=${quoted(folder)} context=${quoted(context)} base=${quoted(folder)}/disk/base/root
mkdir "$work/disk" && mount -t tmpfs tmpfs "$work/disk"
lay() { # <name> <lower folders>
  mkdir -p "$work/disk/$1"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$work/disk/$1/upper,workdir=$work/disk/$1/work" "$work/disk/$1/root"
}
lay base /
rm -rf "$base"/app "$base"/usr/local/lib/node_modules "$base"/usr{,/local}/bin/{node,npm,npx,corepack}
mkdir -p "$base"/{app,usr/local/lib/node_modules} "$base/home/node" && chown 1000:1000 "$base/home/node"
cp ${quoted(process.execPath)} "$base/usr/local/bin/node" && cp -r ${quoted(npm)} "$base/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$base/usr/local/bin/npm"
cp -L /etc/resolv.conf /etc/hosts "$base/etc/"
grep -v -e ^node: -e :1000: /etc/passwd >"$base/etc/passwd"; echo node:x:1000:1000::/home/node:/bin/sh >>"$base/etc/passwd"
${copies.join("\n")}
mkdir "$work/disk/context" && tar -C "$context" --exclude-from="$work/ignored" -c . | tar -C "$work/disk/context" -x && chmod 755 "$work/disk/context"
stage() { # <name>
  umount "$base" 2>/dev/null || true
  lay "$1" "$work/disk/base/upper:/"
  root=$work/disk/$1/root cwd=/ user=0:0 env=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
  for each in tmp root; do mount -t tmpfs tmpfs "$root/$each"; done
  cp ~/.npmrc "$root/root/" 2>/dev/null || true
}
within() { \${replace:-} chroot --userspec="$user" "$root" env -i "\${env[@]}" HOME="$([ "$user" = 0:0 ] && echo /root || echo /home/node)" "\${given[@]}" sh -c 'cd "$0" && exec "$@"' "$cwd" "$@"; }
given=(${passed.flatMap((name) => (process.env[name] === undefined ? [] : [quoted(`${name}=${process.env[name]}`)])).join(" ")})
exec 3>&1`;
}

/** What a build needs to reach a registry from here. */
const passed = [
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "NODE_EXTRA_CA_CERTS",
  // As npm passes on what its configuration says.
  "npm_config_registry",
  "npm_config_cafile",
  "npm_config_proxy",
  "npm_config_https_proxy",
];

function npmPath(): string {
  const places = (process.env["PATH"] ?? "").split(":").map((place) => join(place, "npm"));
  for (const place of places) {
    try {
      readFileSync(place);
      return place;
    } catch {}
  }
  throw new Error("there is no npm");
}

/** One instruction as lines of bash. An unknown one is an error, so that a change of the file does not pass unseen. */
function stepOf(step: string): string {
  const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(step) ?? [];
  const read = instructions[name];
  if (read === undefined) throw new TypeError(`no such instruction is known here: ${step}`);
  return read(rest);
}

const instructions: Readonly<Record<string, (rest: string) => string>> = {
  FROM: (rest) => `stage ${/ AS (\w+)$/.exec(rest)?.[1] ?? "final"}`,
  WORKDIR: (rest) => `cwd=${quoted(rest)}; mkdir -p "$root$cwd"`,
  RUN: (rest) => `within sh -c ${quoted(rest)}`,
  USER: (rest) => `user=$(awk -F: -v name=${quoted(rest)} '$1 == name { print $3 ":" $4 }' "$root/etc/passwd")`,
  ENV: (rest) => `env+=(${rest})`,
  EXPOSE: (rest) => `printf '%s\\n' "\${env[@]}" | grep -qx PORT=${rest}`,
  HEALTHCHECK: (rest) => `check=(${execForm(rest.replace(/^.*?CMD /, ""))})`,
  CMD: (rest) => `command=(${execForm(rest)})`,
  COPY(rest) {
    const words = rest.split(" ");
    const from = words[0]?.startsWith("--from=") ? words.shift()?.slice("--from=".length) : undefined;
    const source = from === undefined ? `"$work/disk/context"` : `"$work/disk/${from}/root"`;
    const target = words.pop() ?? "";
    const copy = words.map(
      (word) => `cp -a --no-preserve=ownership ${source}/${word}${word === "." ? "/." : ""} "$root$cwd/"${target}`,
    );
    return copy.join(" && ");
  },
};

function execForm(text: string): string {
  return (JSON.parse(text) as readonly string[]).map(quoted).join(" ");
}

/** Starts the command on a read-only file system. */
function finish({ env }: ImageOptions, probe: string): string {
  return `
chmod 1777 "$root/tmp"
mount -o remount,ro "$root"
given=() && env+=(${Object.entries(env)
    .map(([name, value]) => quoted(`${name}=${value}`))
    .join(" ")})
replace=exec within "\${command[@]}" <&- &
program=$!
until within "\${check[@]}"; do kill -0 "$program" || exit 1; sleep 0.2; done
echo probe: && within sh -c ${quoted(probe)} && echo healthy
read -r _ || true
kill -TERM "$program" && wait "$program"`;
}
