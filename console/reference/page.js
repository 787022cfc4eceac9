/** The theme, the search on the first page, and the forms that send a request. The pages can be read without it. */
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

function filterOperations(text) {
  const words = text.toLowerCase().split(/\s+/);
  for (const line of document.querySelectorAll('.list li'))
    line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
  for (const section of document.querySelectorAll('main section'))
    section.hidden = section.querySelector('li:not([hidden])') === null;
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
  find?.addEventListener('input', () => filterOperations(find.value));
  for (const details of document.querySelectorAll('details.try'))
    details.addEventListener('toggle', () => details.childElementCount === 1 && buildForm(details));
  openTarget();
  addEventListener('hashchange', openTarget);
});
