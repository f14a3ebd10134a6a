// Scenarios to start from.

export const EXAMPLES = [
  { name: "adapter", title: "An adapter of your own" },
  { name: "camera", title: "A camera beside a bulk transfer" },
  { name: "office", title: "An office: cameras at two switches" },
  { name: "nic", title: "A 25 Gbit/s adapter" },
  { name: "receiver", title: "A host that receives too much" },
  { name: "cluster", title: "Virtual interfaces in a cluster" },
];

/** The text of the example called `name`. */
export async function example(name) {
  const response = await fetch(new URL(`examples/${name}.toml`, import.meta.url));
  if (!response.ok) throw new Error(`the example ${name} is not here`);
  return response.text();
}
