// The page: streams an answer, and shows each artifact as it grows.
import { Client } from "trivium/client";

const client = await Client.connect(document.documentElement.dataset.agent);
const form = document.querySelector("form");
const status = document.querySelector("output");
const main = document.querySelector("main");
status.textContent = `${client.card.name} is there`;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  main.replaceChildren();
  try {
    for await (const { response } of client.stream(new FormData(form).get("harbour"))) show(response.payload);
    status.textContent = `done, over ${client.connection.binding}`;
  } catch (error) {
    status.textContent = `${error.code}: ${error.message}`;
  }
});

function show({ case: kind, value }) {
  if (kind !== "artifactUpdate") return;
  const { artifactId, name, parts } = value.artifact;
  const section = document.getElementById(artifactId) ?? add(artifactId, name);
  const text = parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
  const paragraph = section.querySelector("p");
  if (value.append) paragraph.append(text);
  else paragraph.textContent = text;
}

function add(id, name) {
  const section = document.createElement("section");
  const heading = document.createElement("h2");
  section.id = id;
  heading.textContent = name;
  section.append(heading, document.createElement("p"));
  main.append(section);
  return section;
}
