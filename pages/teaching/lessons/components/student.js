// A lesson without a server: predict, then see picture and answer. All answers together are one code.
const given = {};
/** @type {NodeListOf<HTMLFormElement>} */
const forms = document.querySelectorAll("form[data-question]");
/** @type {HTMLInputElement} */
const codeField = document.querySelector("#code");

// As `codes.read` in the app reads it.
const showCode = () => {
  const text = JSON.stringify({ lesson: forms[0].dataset.lesson, answers: given });
  const bytes = new TextEncoder().encode(text);
  codeField.value = `ES1.${btoa(String.fromCharCode(...bytes))}`;
};

const element = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, properties);

// Words of the question: Python has escaped them, and printed symbols such as d_k.
const worded = (name, html) => element(name, "", { innerHTML: html });

const labelled = (form, text, field) => {
  const label = element("label", text);
  label.append(" ", field);
  form.append(label);
  return field;
};

const aNumber = (form, text) =>
  labelled(form, text, element("input", "", { type: "number", step: "any", required: true }));

// Kind -> adds the fields to a form, and returns a function that reads the answer; null: it is not complete.
const CONTROLS = {
  order: (form, { options }) => {
    const chosen = options.map((_, place) => {
      const field = element("select", "");
      field.append(...["", ...options.map(([value]) => value)].map((value) => element("option", value, { value })));
      return labelled(form, `${place + 1}.`, field);
    });
    return () => {
      const values = chosen.map((field) => field.value);
      return new Set(values).size === options.length && !values.includes("") ? values : null;
    };
  },
  head: (form) => {
    const fields = [aNumber(form, "Layer"), aNumber(form, "Head")];
    return () => fields.every((field) => field.value !== "") ? fields.map((field) => Number(field.value)) : null;
  },
  number: (form) => {
    const field = aNumber(form, "Your number");
    return () => field.value === "" ? null : Number(field.value);
  },
  text: (form) => {
    const field = element("textarea", "", { maxLength: 300, rows: 2 });
    labelled(form, "", field);
    return () => field.value.trim() || null;
  },
  options: (form, { options }, name) => {
    const fields = options.map(([value, text]) => {
      const field = element("input", "", { type: "radio", name });
      const label = element("label", "");
      label.append(field, ` ${text}`);
      form.append(label);
      return [field, value];
    });
    return () => fields.find(([field]) => field.checked)?.[1] ?? null;
  },
};

// Why an answer is not accepted, as the app says it; "": it is.
const refused = ({ words, between_words }, answer) => {
  if (answer === null) return "Answer all parts of the question first.";
  const found = words ? answer.split(new RegExp(between_words)).filter(Boolean).length : words;
  return found === words ? "" : `Words in your text: ${found}. The question asks for ${words}.`;
};

const isRight = ({ right, between }, answer) => {
  if (between) return answer >= between[0] && answer <= between[1];
  return right ? right.some((one) => JSON.stringify(one) === JSON.stringify(answer)) : null;
};

for (const form of forms) {
  const question = JSON.parse(form.dataset.question);
  const section = form.closest("section");
  const next = section.nextElementSibling;
  const waits = "hides" in form.dataset && next && !next.querySelector("form") ? next : null;
  waits?.classList.add("waits");
  const kind = ["sentence", "conclusion"].includes(question.kind) ? "text" : question.kind;
  const read = (CONTROLS[kind] ?? CONTROLS.options)(form, question, `step-${form.dataset.step}`);
  if (question.hint) {
    const hint = element("details", "");
    hint.append(element("summary", "Hint"), worded("p", question.hint));
    form.append(hint);
  }
  const result = element("div", "");
  result.setAttribute("role", "status");
  form.append(element("button", "Answer"), result);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = read();
    const said = refused(question, answer);
    if (said) return void result.replaceChildren(element("p", said));
    given[form.dataset.step] = answer;
    const right = isRight(question, answer);
    const verdict = right === null ? "Your answer is kept." : right ? "Right." : "Not quite.";
    result.replaceChildren(
      worded("p", `${verdict} ${question.said}`),
      ...(question.why ? [worded("p", question.why)] : []),
    );
    waits?.classList.remove("waits");
    showCode();
  });
}
