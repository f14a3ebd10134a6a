// Answers requests: with the WebAssembly module, or through the server where there is none.

let instance = null;
let server = null;

/** The answer of the module, as JSON text. */
function answerHere(request) {
  const { memory, laxity_room, laxity_answer, laxity_free } = instance.exports;
  const bytes = new TextEncoder().encode(request);
  const room = laxity_room(bytes.length);
  new Uint8Array(memory.buffer, room, bytes.length).set(bytes);
  const whole = laxity_answer(room, bytes.length) >>> 0;
  const length = new DataView(memory.buffer).getUint32(whole, true);
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, whole + 4, length));
  laxity_free(whole, length + 4);
  return text;
}

async function answerThere(request) {
  const response = await fetch(server, { method: "POST", body: request });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.text();
}

self.onmessage = async ({ data }) => {
  if (data.module) {
    // The module has no imports: its answers depend on requests only.
    instance = new WebAssembly.Instance(data.module, {});
    return;
  }
  if (data.server) {
    server = data.server;
    return;
  }
  const { number, request } = data;
  try {
    const text = instance ? answerHere(request) : await answerThere(request);
    self.postMessage({ number, answer: JSON.parse(text) });
  } catch (error) {
    // A trap leaves the module's memory in an unknown state.
    self.postMessage({ number, error: String(error.message ?? error) });
  }
};
