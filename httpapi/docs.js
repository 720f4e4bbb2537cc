// Shows /v1/openapi.json as one page. Text is set as text, never as HTML.
"use strict";

const make = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};

const shortName = (ref) => ref.split("/").pop();

// typeOf names a schema in a few words.
const typeOf = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return shortName(schema.$ref);
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const several = schema.anyOf || schema.oneOf;
  if (several) return several.map(typeOf).join(" | ");
  const type = [].concat(schema.type || "any").join(" | ");
  return schema.items ? "list of " + typeOf(schema.items) : schema.format ? type + " (" + schema.format + ")" : type;
};

const rows = (list) => {
  const table = make("table");
  for (const cells of list) {
    const row = table.insertRow();
    for (const cell of cells) row.insertCell().append(cell instanceof Node ? cell : make("span", cell));
  }
  return table;
};

const sample = (content) => {
  const value = Object.values(content || {})[0]?.example;
  return value === undefined ? [] : [make("pre", typeof value === "string" ? value : JSON.stringify(value, null, 2))];
};

const operation = (path, method, op, spec) => {
  const box = make("details");
  const head = make("summary");
  head.append(make("code", method.toUpperCase(), "method"), make("code", path, "path"), make("span", "  " + op.summary));
  box.append(head, make("p", op.description || ""));
  if (op.parameters?.length) {
    box.append(make("h4", "Parameters"), rows(op.parameters.map((p) => (p.$ref ? spec.components.parameters[shortName(p.$ref)] : p)).map((p) => [make("code", p.name), p.in, typeOf(p.schema), p.description || ""])));
  }
  if (op.requestBody) {
    const body = Object.values(op.requestBody.content)[0];
    box.append(make("h4", "Body: " + typeOf(body.schema)), ...sample(op.requestBody.content));
  }
  box.append(make("h4", "Answers"));
  for (const [status, answer] of Object.entries(op.responses)) {
    const known = answer.$ref ? spec.components.responses[shortName(answer.$ref)] : answer;
    const [media, body] = Object.entries(known.content || {})[0] || ["", null];
    box.append(make("p", [status, known.description, media, body ? typeOf(body.schema) : ""].filter(Boolean).join(" · ")));
    if (!answer.$ref) box.append(...sample(known.content));
  }
  return box;
};

const schema = (name, s) => {
  const box = make("details");
  box.append(make("summary", name), make("p", s.description || ""));
  const needed = new Set(s.required || []);
  box.append(rows(Object.entries(s.properties || {}).map(([field, p]) => [make("code", field), needed.has(field) ? "always" : "", typeOf(p), p.description || ""])));
  return box;
};

const show = (spec) => {
  document.getElementById("about").textContent = spec.info.description;
  const api = document.getElementById("api");
  api.replaceChildren();
  for (const tag of spec.tags) {
    api.append(make("h2", tag.name), make("p", tag.description));
    for (const [path, item] of Object.entries(spec.paths)) {
      for (const [method, op] of Object.entries(item)) {
        if (op.tags?.includes(tag.name)) api.append(operation(path, method, op, spec));
      }
    }
  }
  api.append(make("h2", "Schemas"));
  for (const [name, s] of Object.entries(spec.components.schemas)) api.append(schema(name, s));
};

fetch("/v1/openapi.json")
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
  .then(show)
  .catch((reason) => document.getElementById("api").replaceChildren(make("p", "The document could not be read: " + reason.message)));
