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
    for await (const event of client.stream(new FormData(form).get("harbour"))) {
      if (event.type === "artifact") show(event);
    }
    status.textContent = `done, over ${client.connection.binding}`;
  } catch (error) {
    status.textContent = `${error.code}: ${error.message}`;
  }
});

function show({ artifactId, name, delta, append }) {
  const section = document.getElementById(artifactId) ?? add(artifactId, name);
  const paragraph = section.querySelector("p");
  if (append) paragraph.append(delta);
  else paragraph.textContent = delta;
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
