// The simulator in workers. Of several requests of one kind only the newest is answered.

/** A worker that answers one request at a time. */
class Hand {
  constructor(setup) {
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.postMessage(setup);
    this.waiting = new Map();
    this.number = 0;
    this.worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.number);
      this.waiting.delete(data.number);
      if (data.error) reject(new Error(data.error));
      else resolve(data.answer);
    };
  }

  ask(request) {
    const number = this.number++;
    this.worker.postMessage({ number, request: JSON.stringify(request) });
    return new Promise((resolve, reject) => this.waiting.set(number, { resolve, reject }));
  }

  end() {
    this.worker.terminate();
    this.waiting.clear();
  }
}

export class Engine {
  /** An engine with the module, or with the server that gave the page if that has no module. */
  static async open() {
    const address = new URL("laxity.wasm", import.meta.url);
    const response = await fetch(address);
    if (response.ok) {
      const bytes = response.headers.get("content-type") === "application/wasm";
      const module = bytes
        ? await WebAssembly.compileStreaming(response)
        : await WebAssembly.compile(await response.arrayBuffer());
      return new Engine({ module }, "WebAssembly");
    }
    return new Engine({ server: new URL("answer", import.meta.url).href }, "server");
  }

  constructor(setup, by) {
    this.setup = setup;
    this.by = by;
    this.quick = new Hand(setup);
    this.slow = { run: this.fresh(), sweep: this.fresh() };
    this.spare = new Hand(setup);
    this.next = new Map();
  }

  fresh() {
    return { hand: null, busy: false };
  }

  /** The answer to a short request: in order, none is left out. */
  ask(request) {
    return this.quick.ask(request);
  }

  /**
   * The answer to a long request of a `kind` (`run`, `sweep`); `null` if a newer one of the same
   * kind replaced it. A request in progress is given up for a newer one.
   */
  async newest(kind, request) {
    const lane = this.slow[kind];
    if (lane.busy) {
      lane.hand.end();
      lane.give();
      lane.hand = null;
    }
    if (!lane.hand) {
      lane.hand = this.spare;
      this.spare = new Hand(this.setup);
    }
    const hand = lane.hand;
    lane.busy = true;
    const given = new Promise((resolve) => (lane.give = () => resolve(null)));
    try {
      return await Promise.race([hand.ask(request), given]);
    } catch (error) {
      if (lane.hand === hand) Object.assign(lane, this.fresh());
      hand.end();
      throw error;
    } finally {
      if (lane.hand === hand) lane.busy = false;
    }
  }
}
