// Tests the designer in a real Chromium.
//
// node page.mjs ADDRESS CHROMIUM OUT SCREENS [--write]
//
// ADDRESS is that of `laxity designer`, OUT a directory for screenshots, and SCREENS the directory
// of those that are expected; `--write` makes them anew. Needs puppeteer-core in NODE_PATH.
// Times are printed and never judged: other work of the machine would be measured, too.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const [address, chromium, out, screens, flag] = process.argv.slice(2);
const puppeteer = createRequire(path.join(process.env.NODE_PATH, "here.js"))("puppeteer-core");

/** The whole test fails if it takes longer. */
const LIMIT = 300_000;
setTimeout(() => {
  console.log(`FAILED  all took longer than ${LIMIT / 1000} s`);
  process.exit(1);
}, LIMIT).unref();

let passed = 0;
let failed = 0;

async function test(name, body) {
  try {
    const said = await body();
    passed++;
    console.log(`ok      ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
}

function check(holds, words) {
  if (!holds) throw new Error(words);
}

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--force-color-profile=srgb"],
});
const complaints = [];

/** A fresh page at `hash`, in a theme and a size, when its first results are there. */
async function open({ width = 1440, height = 1000, dark = false, hash = "" } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height, hasTouch: width < 600, isMobile: width < 600 });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) complaints.push(`asks ${request.url()}`);
  });
  await page.goto(address + hash);
  await settled(page);
  return page;
}

/** Waits until `holds` in the page; what was waited for in vain is said as `what`. */
async function wait(page, what, holds, { timeout = 30_000, with: value } = {}) {
  try {
    await page.waitForFunction(holds, { timeout }, value);
  } catch (error) {
    throw new Error(`no ${what}: ${error.message}`);
  }
}

/** Waits until the whole run is shown. */
async function settled(page) {
  await wait(page, "whole run", () => window.laxity?.state.run && !window.laxity.state.busy, { timeout: 60_000 });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Chooses an example, and waits for its results. */
async function example(page, name) {
  await page.select("#examples", name);
  const shown = (name) => window.laxity.state.name === `${name}.toml` && !window.laxity.state.busy;
  await wait(page, `example ${name}`, shown, { timeout: 60_000, with: name });
  await settled(page);
}

/** The field with that label in the drawing. */
const field = (page, label) => page.waitForSelector(`::-p-aria(${label})`, { timeout: 5_000 });

/** Types `text` at the beginning of the editor. */
async function type(page, text) {
  await page.evaluate(() => document.querySelector(".cm-content").focus());
  await page.keyboard.down("Control");
  await page.keyboard.press("Home");
  await page.keyboard.up("Control");
  await page.keyboard.type(text);
}

const bound = (page, name) => page.evaluate((name) => window.laxity.state.design.admission.channels.find((channel) => channel.name === name)?.bound, name);

await mkdir(out, { recursive: true });

await test("the first curve is there after opening", async () => {
  const page = await open();
  const times = await page.evaluate(() => window.laxity.times);
  await page.waitForSelector("#delays-plot canvas");
  await page.close();
  return `bounds after ${Math.round(times.design)} ms, curves after ${Math.round(times.run)} ms`;
});

await test("results have the bits of the native program", async () => {
  const page = await open();
  const compared = await page.evaluate(async () => {
    const all = [];
    for (const name of ["adapter", "camera", "office", "nic", "cluster"]) {
      const text = await (await fetch(`examples/${name}.toml`)).text();
      const request = { do: "run", text, watch: true };
      const here = await window.laxity.ask(request);
      const there = await (await fetch("answer", { method: "POST", body: JSON.stringify(request) })).json();
      all.push({ name, by: window.laxity.state.by, same: JSON.stringify(here) === JSON.stringify(there), digest: here.digest });
    }
    return all;
  });
  await page.close();
  for (const { name, same, by } of compared) {
    check(by === "WebAssembly", `the page is answered by the ${by}`);
    check(same, `${name} differs`);
  }
  return compared.map(({ name, digest }) => `${name} ${digest}`).join(", ");
});

await test("a slider moves the bound, and results follow", async () => {
  const page = await open();
  const input = await field(page, "each byte, dma");
  const before = await bound(page, "camera");
  await input.focus();
  const slider = await page.waitForSelector("::-p-aria(Slide each byte, dma)");
  await wait(page, "bounds over the slider", () => window.laxity.state.slider?.points);
  await page.waitForSelector("#sweep-plot canvas");
  await page.evaluate(() => (window.laxity.times.changes.length = 0));
  for (let i = 1; i <= 15; i++) {
    await slider.evaluate((range, value) => {
      range.value = value;
      range.dispatchEvent(new Event("input", { bubbles: true }));
    }, i / 20);
    await wait(page, `results of change ${i}`, (count) => window.laxity.times.changes.length >= count, { with: i });
  }
  const changes = (await page.evaluate(() => window.laxity.times.changes)).sort((a, b) => a - b);
  const after = await bound(page, "camera");
  check(after > before, `the bound was ${before} and is ${after}`);
  const middle = changes[Math.floor(changes.length / 2)];
  await settled(page);
  await page.screenshot({ path: path.join(out, "slider.png") });
  await page.close();
  return `results after ${Math.round(middle)} ms (longest ${Math.round(changes.at(-1))} ms)`;
});

await test("a drawing and the text follow each other, and comments stay", async () => {
  const page = await open();
  const input = await field(page, "Times as fast");
  await input.focus();
  await page.keyboard.press("ArrowUp");
  await wait(page, "speedup of 21", () => window.laxity.state.text.includes("speedup = 21.0 "));
  const text = await page.evaluate(() => window.laxity.state.text);
  check(text.includes("# ... and this host is twenty times as fast"), "the comment is gone");
  await page.click("#view-text");
  await page.waitForSelector(".cm-content");
  await type(page, "seed = 7\n");
  await wait(page, "seed of 7 in the design", () => window.laxity.state.design.document.seed === 7);
  await page.close();
});

await test("what is typed stays when the page is drawn between two keys", async () => {
  const page = await open();
  await page.click("#view-text");
  await page.waitForSelector(".cm-content");
  // A key is answered at once, and results that arrive draw the page as a new size does.
  await page.evaluate(() => addEventListener("keyup", () => dispatchEvent(new Event("resize"))));
  await type(page, "seed = 7\n");
  await wait(page, "typed line in the text", () => window.laxity.state.text.startsWith("seed = 7\n"));
  await page.close();
});

await test("of two changes at once none is lost", async () => {
  const page = await open();
  for (const label of ["Times as fast", "Largest packet"]) await field(page, label);
  await page.evaluate(() => {
    for (const [label, value] of [["Times as fast", "30"], ["Largest packet", "2 KiB"]]) {
      const input = [...document.querySelectorAll(".host label")].find((one) => one.innerText === label).control;
      input.value = value;
      input.dispatchEvent(new Event("change"));
    }
  });
  const both = () => ["speedup = 30.0", "packet = \"2 KiB\""].every((part) => window.laxity.state.text.includes(part));
  await wait(page, "text with both", both);
  await page.close();
});

await test("an error stands at its line, and the last results stay", async () => {
  const page = await open();
  await page.click("#view-text");
  await page.waitForSelector(".cm-content");
  await page.evaluate(() => window.laxity.take(window.laxity.state.text.replace("deadline = \"20 ms\"", "dedline = \"20 ms\"")));
  await page.waitForSelector(".cm-lintRange-error");
  const said = await page.$eval(".errors", (list) => list.innerText);
  const line = await page.evaluate(() => window.laxity.state.text.split("\n").findIndex((line) => line.includes("dedline")) + 1);
  check(said.includes(`line ${line}`) && said.includes("dedline"), said);
  check((await page.$$(".result")).length === 3, "the results are gone");
  await page.screenshot({ path: path.join(out, "error.png") });
  await page.close();
});

await test("a refused channel is red with its largest term, and one click admits it", async () => {
  const page = await open();
  await page.evaluate(() => window.laxity.take(window.laxity.state.text.replace("deadline = \"20 ms\"", "deadline = \"2 ms\"")));
  await page.waitForSelector(".result.bad .refusal .fix", { timeout: 60_000 });
  const said = await page.$eval(".refusal", (part) => part.innerText);
  check(/Largest term: .+ [mµ]s/.test(said), said);
  await settled(page);
  await page.screenshot({ path: path.join(out, "refused.png") });
  await page.click(".refusal .fix");
  await wait(page, "admission", () => !document.querySelector(".result.bad"), { timeout: 60_000 });
  await page.close();
  return said.split("\n").find((line) => line.includes("Largest"));
});

await test("an address carries the scenario", async () => {
  const page = await open();
  await page.evaluate(() => window.laxity.take(window.laxity.state.text.replace("20 ms", "21 ms")));
  await settled(page);
  await page.evaluate(() => [...document.querySelectorAll(".actions button")].find((one) => one.innerText === "Share").click());
  await wait(page, "scenario in the address", () => location.hash.startsWith("#s="));
  const [hash, text] = await page.evaluate(() => [location.hash, window.laxity.state.text]);
  const other = await open({ hash });
  check((await other.evaluate(() => window.laxity.state.text)) === text, "the text differs");
  await page.close();
  await other.close();
  return `${hash.length} characters`;
});

await test("an adapter of a file is copied, then changed", async () => {
  const page = await open();
  await example(page, "nic");
  const before = await bound(page, "film");
  await page.click("button.copy");
  const input = await field(page, "fixed, data");
  check(Math.abs((await bound(page, "film")) / before - 1) < 1e-12, "the copy has another bound");
  await input.click({ count: 3 });
  await page.keyboard.type("5 us");
  await page.keyboard.press("Enter");
  await wait(page, "fixed part of 5 us", () => window.laxity.state.text.includes("\"5 us\""));
  await settled(page);
  check((await bound(page, "film")) > before, "the bound has not moved");
  await page.close();
});

await test("all is reached by keyboard", async () => {
  const page = await open();
  const seen = new Set();
  for (let i = 0; i < 90; i++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => {
      const at = document.activeElement;
      return at.getAttribute("aria-label") ?? at.labels?.[0]?.innerText.trim() ?? at.innerText?.trim() ?? "";
    }));
  }
  for (const wanted of ["Example", "Save", "Share", "Times as fast", "each byte, dma", "Deadline", "Slide Times as fast"]) {
    check(seen.has(wanted), `Tab does not reach ${wanted}`);
  }
  await page.close();
});

/** How much two pictures differ: the share of 8 by 8 pixels of which the mean differs by more than a tenth. */
async function difference(page, a, b) {
  return page.evaluate(async (a, b) => {
    const pixels = async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const canvas = new OffscreenCanvas(Math.ceil(image.width / 8), Math.ceil(image.height / 8));
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return { size: `${image.width}x${image.height}`, bytes: context.getImageData(0, 0, canvas.width, canvas.height).data };
    };
    const [one, two] = [await pixels(a), await pixels(b)];
    if (one.size !== two.size) return 1;
    let different = 0;
    for (let i = 0; i < one.bytes.length; i += 4) {
      const far = [0, 1, 2].some((channel) => Math.abs(one.bytes[i + channel] - two.bytes[i + channel]) > 26);
      if (far) different++;
    }
    return different / (one.bytes.length / 4);
  }, a, b);
}

const SCREENS = [
  { name: "adapter-light", example: "adapter" },
  { name: "adapter-dark", example: "adapter", dark: true },
  { name: "office-light", example: "office" },
  { name: "nic-dark", example: "nic", dark: true },
  { name: "phone-design", example: "adapter", width: 390, height: 844 },
  { name: "phone-results", example: "adapter", width: 390, height: 844, dark: true, pane: "Results" },
];
/** Share of parts that may differ: fonts are those of the machine. */
const TOLERANCE = 0.06;

for (const screen of SCREENS) {
  await test(`screen ${screen.name}`, async () => {
    const page = await open(screen);
    if (screen.example !== "adapter") await example(page, screen.example);
    if (screen.pane) await page.evaluate(() => document.querySelectorAll(".panes button")[1].click());
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `the page is ${wide} pixels too wide`);
    const picture = await page.screenshot({ fullPage: screen.width !== undefined, encoding: "base64" });
    await writeFile(path.join(out, `${screen.name}.png`), Buffer.from(picture, "base64"));
    const file = path.join(screens, `${screen.name}.png`);
    if (flag === "--write") {
      await mkdir(screens, { recursive: true });
      await writeFile(file, Buffer.from(picture, "base64"));
    }
    const expected = (await readFile(file)).toString("base64");
    const share = await difference(page, picture, expected);
    await page.close();
    check(share < TOLERANCE, `${(share * 100).toFixed(1)} % of it differs from ${file}`);
    return `${(share * 100).toFixed(2)} % differs`;
  });
}

await test("the page has no errors and asks no other server", async () => {
  check(complaints.length === 0, complaints.join("; "));
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
