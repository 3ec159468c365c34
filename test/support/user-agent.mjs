// A user without a window: opens a page of a provider, signs in, consents, and follows it to the end.
// Run by `BROWSER`, with the URL as its argument; TRIVIUM_USER names the user, `nobody` refuses.

const jars = new Map();
const user = process.env.TRIVIUM_USER ?? "alice";

async function request(url, form) {
  const { origin } = new URL(url);
  const jar = jars.get(origin) ?? new Map();
  jars.set(origin, jar);
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie },
    ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "") jar.delete(name);
    else jar.set(name, value);
  }
  return response;
}

function formIn(html, base) {
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1];
  if (action === undefined) return undefined;
  const fields = {};
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) fields[name] = /value="([^"]*)"/.exec(input)?.[1] ?? "";
  }
  if ("login" in fields) fields.login = user;
  if ("password" in fields) fields.password = "anything";
  return { url: new URL(action.replaceAll("&amp;", "&"), base).href, fields };
}

let url = process.argv[2];
let form;
for (let step = 0; step < 20; step++) {
  const response = await request(url, form);
  form = undefined;
  const location = response.headers.get("location");
  if (location !== null) {
    url = new URL(location, url).href;
    continue;
  }
  const html = await response.text();
  const abort = /href="([^"]*\/abort)"/.exec(html)?.[1];
  if (user === "nobody" && abort !== undefined) {
    url = new URL(abort, url).href;
    continue;
  }
  const next = formIn(html, url);
  if (next === undefined) break;
  url = next.url;
  form = next.fields;
}
