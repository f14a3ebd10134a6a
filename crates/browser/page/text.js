// The scenario as text, with errors at their lines. The editor is loaded when it is first shown.

import { state } from "./state.js";
import { take } from "./work.js";

/** How long typing pauses before the text is read, milliseconds. */
const PAUSE = 120;

let view = null;
let parts = null;
let pause = 0;
/** The scenario as the editor has it: only another one is written into it. */
let shown = null;

async function open(place) {
  const [{ EditorState }, v, commands, language, lint, { toml }] = await Promise.all([
    import("@codemirror/state"),
    import("@codemirror/view"),
    import("@codemirror/commands"),
    import("@codemirror/language"),
    import("@codemirror/lint"),
    import("@codemirror/legacy-modes/mode/toml"),
  ]);
  parts = { ...v, ...lint, EditorState };
  const changed = v.EditorView.updateListener.of((change) => {
    if (!change.docChanged || change.transactions.some((one) => one.isUserEvent("outside"))) return;
    // At once: results that arrive before the pause must not bring back the text before this key.
    shown = state.text = change.state.doc.toString();
    clearTimeout(pause);
    pause = setTimeout(() => take(state.text), PAUSE);
  });
  const { HighlightStyle, syntaxHighlighting, StreamLanguage } = language;
  const { tags } = await import("@lezer/highlight");
  const colours = HighlightStyle.define([
    { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
    { tag: tags.string, color: "var(--string)" },
    { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ink)" },
    { tag: [tags.bracket, tags.heading], color: "var(--accent)" },
  ]);
  shown = state.text;
  view = new v.EditorView({
    parent: place,
    state: EditorState.create({
      doc: shown,
      extensions: [
        v.lineNumbers(),
        v.highlightActiveLine(),
        v.drawSelection(),
        commands.history(),
        v.keymap.of([...commands.defaultKeymap, ...commands.historyKeymap]),
        StreamLanguage.define(toml),
        syntaxHighlighting(colours),
        lint.lintGutter(),
        v.EditorView.contentAttributes.of({ "aria-label": "Scenario" }),
        changed,
      ],
    }),
  });
}

/** A position of a finding as an offset: the editor counts in UTF-16, a finding in characters. */
function offset(position) {
  const line = view.state.doc.line(Math.min(position.line, view.state.doc.lines));
  const characters = [...line.text].slice(0, position.column - 1).join("");
  return Math.min(line.from + characters.length, line.to);
}

/** Shows the text and its errors, as they are now. */
export async function showText(place) {
  if (state.view !== "text") return;
  if (!view) {
    if (place.dataset.opening) return;
    place.dataset.opening = "yes";
    await open(place);
  }
  if (state.text !== shown) {
    shown = state.text;
    view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: shown },
      userEvent: "outside",
    });
  }
  const found = state.findings.filter((finding) => finding.start);
  const marks = found.map((finding) => {
    const from = offset(finding.start);
    const to = Math.max(offset(finding.end), from);
    return { from, to, severity: "error", message: [finding.message, ...finding.help].join("\n") };
  });
  view.dispatch(parts.setDiagnostics(view.state, marks));
}

/** Puts the cursor where a finding is. */
export function goTo(finding) {
  if (!view || !finding.start) return;
  const at = offset(finding.start);
  view.dispatch({ selection: { anchor: at }, effects: parts.EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}
