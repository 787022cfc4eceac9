/** The theme, the search, examples on the page of their operation, and the forms that send a request. The pages can be read without it. */
const stored = localStorage.getItem('dragoman-theme');
const isDark = stored === null ? matchMedia('(prefers-color-scheme: dark)').matches : stored === 'dark';
document.documentElement.dataset.theme = isDark ? 'dark' : 'light';

/** Kept until the tab is closed. */
const secretName = (kind) => `dragoman-${kind.replace(' ', '-')}`;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function field(label, input) {
  return element('label', {}, element('span', { textContent: label }), input);
}

/** An object that a link names is opened. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

/** Loaded when someone searches. */
let index;
const MAX_FOUND = 30;

async function search(text) {
  index ??= fetch('/docs/search.json').then((response) => response.json());
  const entries = await index;
  const find = document.getElementById('find');
  // What was typed meanwhile has its own search.
  if (find.value !== text) return;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const score = ([title, , kind, more]) => {
    const [head, all] = [`${title} ${kind}`.toLowerCase(), `${title} ${kind} ${more}`.toLowerCase()];
    if (!words.every((word) => all.includes(word))) return 0;
    return 1 + words.filter((word) => head.includes(word)).length;
  };
  const found = entries
    .map((entry) => ({ entry, score: score(entry) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, words.length === 0 ? 0 : MAX_FOUND);
  document
    .getElementById('found')
    .replaceChildren(
      ...found.map(({ entry: [title, href, kind] }) =>
        element(
          'li',
          {},
          element('a', { href }, element('span', { textContent: title }), element('small', { textContent: kind })),
        ),
      ),
      ...(words.length > 0 && found.length === 0 ? [element('li', { textContent: 'Nothing has these words.' })] : []),
    );
  find.parentElement.dataset.searching = String(words.length > 0);
}

/** The examples are written for the demo. */
const DEMO = 'http://127.0.0.1:8080';

function dressCode(root) {
  for (const block of root.querySelectorAll('pre')) {
    if (block.textContent.includes(DEMO)) block.textContent = block.textContent.replaceAll(DEMO, location.origin);
    block.tabIndex = 0;
    if (block.previousElementSibling?.className === 'copy') continue;
    const copy = element('button', { type: 'button', className: 'copy', textContent: 'Copy' });
    copy.onclick = () =>
      navigator.clipboard.writeText(block.textContent).then(() => {
        copy.textContent = 'Copied';
      });
    block.before(copy);
  }
}

/** Codes of responses lead to what to do about them. Pages of operators have codes that callers never get. */
function linkCodes() {
  if (/\/(?:admin|console)\.html$/.test(location.pathname)) return;
  for (const code of document.querySelectorAll('dt[data-bad="true"] + dd > code'))
    code.replaceWith(element('a', { href: `/docs/errors.html#${code.textContent}` }, code.cloneNode(true)));
}

async function showExample(event) {
  const link = event.currentTarget;
  if (event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  const page = await fetch(link.href).then((response) => response.text());
  const id = new URL(link.href).hash.slice(1);
  const article = new DOMParser().parseFromString(page, 'text/html').getElementById(id);
  const blocks = [...article.querySelectorAll('details')];
  link.parentElement.replaceChildren(...blocks);
  dressCode(blocks[0].parentElement);
}

/** Made when it is first opened: most readers open few. */
function buildForm(details) {
  const { method, path, params, body, secret } = JSON.parse(details.dataset.request);
  const inputs = params.map(({ name, place, required }) => ({
    name,
    place,
    input: element('input', { name, required: required === true, autocomplete: 'off', spellcheck: false }),
  }));
  const secretInput =
    secret &&
    element('input', {
      type: 'password',
      autocomplete: 'off',
      value: sessionStorage.getItem(secretName(secret)) ?? '',
    });
  const bodyInput =
    body !== undefined &&
    element('textarea', { value: body, rows: Math.min(16, body.split('\n').length + 1), spellcheck: false });
  const output = element('pre', { hidden: true, tabIndex: 0 });
  const command = element('pre', { className: 'command' });
  const target = () => {
    const filled = inputs.reduce(
      (text, { name, place, input }) =>
        place === 'path'
          ? text.replace(`{${name}}`, input.value === '' ? `{${name}}` : encodeURIComponent(input.value))
          : text,
      path,
    );
    const query = new URLSearchParams(
      inputs
        .filter(({ place, input }) => place === 'query' && input.value !== '')
        .map(({ name, input }) => [name, input.value]),
    );
    return query.size > 0 ? `${filled}?${query}` : filled;
  };
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const showCommand = () => {
    const variable = secret === 'admin token' ? '$ADMIN_TOKEN' : '$DRAGOMAN_KEY';
    command.textContent = [
      `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(location.origin + target())}`,
      ...(secret ? [`  -H "Authorization: Bearer ${variable}"`] : []),
      ...(bodyInput ? ["  -H 'Content-Type: application/json'", `  -d ${quoted(bodyInput.value)}`] : []),
    ].join(' \\\n');
  };
  const form = element(
    'form',
    { onsubmit: (event) => void submit(event) },
    ...(secretInput ? [field(`${secret.charAt(0).toUpperCase()}${secret.slice(1)}`, secretInput)] : []),
    ...inputs.map(({ name, input }) => field(name, input)),
    ...(bodyInput ? [field('Body', bodyInput)] : []),
    element('button', { type: 'submit', textContent: `Send ${method}` }),
  );
  async function submit(event) {
    event.preventDefault();
    if (secretInput) sessionStorage.setItem(secretName(secret), secretInput.value);
    output.hidden = false;
    output.textContent = 'Sending ...';
    const began = performance.now();
    try {
      const response = await fetch(target(), {
        method,
        // The request is that of the key, never of the person who is signed in to the console.
        credentials: 'omit',
        headers: {
          ...(secretInput && { authorization: `Bearer ${secretInput.value.trim()}` }),
          ...(bodyInput && { 'content-type': 'application/json' }),
        },
        ...(bodyInput && { body: bodyInput.value }),
      });
      const head = `${response.status} ${response.statusText} · x-request-id: ${response.headers.get('x-request-id')}`;
      let text = '';
      const show = () => {
        output.textContent = `${head} · ${Math.round(performance.now() - began)} ms\n\n${text}`;
      };
      show();
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        text += part.value;
        show();
      }
      if (response.headers.get('content-type')?.includes('json')) text = JSON.stringify(JSON.parse(text), undefined, 2);
      show();
    } catch (error) {
      output.textContent = `The request failed: ${error.message}`;
    }
  }
  form.addEventListener('input', showCommand);
  showCommand();
  details.append(form, command, output);
}

document.addEventListener('DOMContentLoaded', () => {
  const find = document.getElementById('find');
  find.addEventListener('input', () => void search(find.value));
  dressCode(document.querySelector('main'));
  linkCodes();
  for (const link of document.querySelectorAll('a.example')) link.addEventListener('click', showExample);
  for (const details of document.querySelectorAll('details.try'))
    details.addEventListener('toggle', () => details.childElementCount === 1 && buildForm(details));
  openTarget();
  addEventListener('hashchange', openTarget);
});
