// Graphs of the last hour, drawn as they are: one point for each step of ten seconds.

import { get } from "./api.js";
import { failure, fill, h, setText } from "./dom.js";
import { count, micros } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 360;
const HEIGHT = 100;
/** Milliseconds between two readings. */
const PAUSE = 5000;

/** Title, value of a step, and how a value is written. */
const GRAPHS = [
  ["Calls per second", ({ calls, seconds }) => calls / seconds, count],
  ["Errors and faults per second", ({ errors, seconds }) => errors / seconds, count],
  ["Processor time, in percent of one core", ({ cpu_us, seconds }) => cpu_us / seconds / 10_000, (value) => `${count(value)} %`],
  ["Time per call", ({ calls, took_us }) => (calls ? took_us / calls : 0), micros],
];

export function graphs(main) {
  const problem = h("div");
  const made = GRAPHS.map(([title]) => graph(title));
  fill(main, h("h1", {}, "Last hour"), problem, h("div", { class: "graphs" }, made.map(({ element }) => element)));

  async function read() {
    try {
      const figures = await get("hour");
      const steps = figures.calls.map((calls, at) => ({
        calls,
        errors: figures.errors[at],
        cpu_us: figures.cpu_us[at],
        took_us: figures.took_us[at],
        seconds: at === figures.calls.length - 1 ? figures.passed : figures.step,
      }));
      GRAPHS.forEach(([, value, text], at) => made[at].draw(steps.map(value), text));
      fill(problem);
    } catch (error) {
      fill(problem, failure(error));
    }
  }

  read();
  const timer = setInterval(read, PAUSE);
  return { close: () => clearInterval(timer) };
}

function graph(title) {
  const line = part("path", { fill: "none", stroke: "currentColor", "stroke-width": "1.5", "vector-effect": "non-scaling-stroke" });
  const axis = part("path", { d: `M0 ${HEIGHT}H${WIDTH}`, class: "axis", "vector-effect": "non-scaling-stroke" });
  const picture = part("svg", { viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: "none", role: "img" });
  picture.append(axis, line);
  const summary = h("p", { class: "note" }, "Reading");
  const element = h("figure", {}, h("figcaption", {}, title), picture, summary);

  function draw(values, text) {
    const most = Math.max(...values, 0);
    // The newest step is at the right edge; before the start of the server there is nothing.
    const first = WIDTH - values.length + 1;
    const y = (value) => (most ? HEIGHT - (value / most) * HEIGHT : HEIGHT).toFixed(1);
    line.setAttribute("d", values.map((value, at) => `${at ? "L" : "M"}${first + at} ${y(value)}`).join(""));
    const words = `now ${text(values.at(-1) ?? 0)}, at most ${text(most)}`;
    picture.setAttribute("aria-label", `${title} in the last hour: ${words}`);
    setText(summary, words);
  }

  return { element, draw };
}

function part(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
