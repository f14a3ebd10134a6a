// Runs a scenario in WebAssembly and prints its digest: node run.mjs MODULE.wasm SCENARIO.toml

import { readFile } from "node:fs/promises";

const [module, scenario] = process.argv.slice(2);
// Libraries for figures and scripts link to functions of a page. A run asks for none of them: whatever it did ask for is an error.
const asked = (name) => () => {
  throw new Error(`the module asks its surroundings for ${name}`);
};
const named = (get) => new Proxy({}, { get: (_, name) => get(name) });
const surroundings = named((from) => named((name) => asked(`${String(from)}.${String(name)}`)));
const { instance } = await WebAssembly.instantiate(await readFile(module), surroundings);
const { memory, laxity_room, laxity_digest } = instance.exports;
const text = await readFile(scenario);
const room = laxity_room(text.length);
new Uint8Array(memory.buffer).set(text, room);
console.log(BigInt.asUintN(64, laxity_digest(room, text.length)).toString(16).padStart(16, "0"));
