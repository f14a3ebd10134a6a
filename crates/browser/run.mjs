// Runs a scenario in WebAssembly and prints its digest: node run.mjs MODULE.wasm SCENARIO.toml

import { readFile } from "node:fs/promises";

const [file, scenario] = process.argv.slice(2);
const module = await WebAssembly.compile(await readFile(file));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  throw new Error(`the module imports ${imports.map(({ name }) => name).join(", ")}, and a run may depend on none`);
}
const { memory, laxity_room, laxity_digest } = (await WebAssembly.instantiate(module, {})).exports;
const text = await readFile(scenario);
const room = laxity_room(text.length);
new Uint8Array(memory.buffer).set(text, room);
console.log(BigInt.asUintN(64, laxity_digest(room, text.length)).toString(16).padStart(16, "0"));
