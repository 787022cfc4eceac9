/** The page that a person opens to be validated. Instead of a camera it has buttons for the possible results. */
import type { VideoCall } from '../call.ts';
import type { Reply } from '../reply.ts';
import type { Validation, Validations } from './validations.ts';

export const PAGE_PATH = '/h5/validate';

const RESULTS: Readonly<Record<string, (validations: Validations, validation: Validation) => string>> = {
  pass: (validations, { token }) => validations.redirectUrl(validations.pass(token)),
  fail: (validations, { token }) => validations.redirectUrl(validations.fail(token)),
  abandon: (validations, { token }) => validations.redirectUrl(validations.abandon(token)),
  // Has no button: the redirect of a pass, while the session stays as it is.
  forge: (validations, validation) => validations.redirectUrl(validation, 'passed'),
};

export function servePage(call: VideoCall, validations: Validations): Reply {
  const validation = validations.get(call.query.get('token') ?? '');
  if (validation) call.entry.resourceId = validation.token;
  if (!validation || !validations.isOpen(validation)) {
    return page(410, '<h1>This link has expired or was already used</h1>');
  }
  if (call.method !== 'POST') return page(200, BUTTONS);
  const result = new URLSearchParams(call.body.toString('utf8')).get('result') ?? '';
  const redirect = Object.hasOwn(RESULTS, result) ? RESULTS[result] : undefined;
  if (!redirect) return page(400, `<h1>The result must be ${Object.keys(RESULTS).join(', ')}</h1>`);
  return { status: 303, headers: { location: redirect(validations, validation) }, body: '' };
}

const BUTTONS = `<h1>Simulated validation of a real person</h1>
<form method="post">
<button name="result" value="pass">Pass</button>
<button name="result" value="fail">Fail</button>
<button name="result" value="abandon">Abandon</button>
</form>`;

const page = (status: number, content: string): Reply => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
  body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Simulated validation</title></head>
<body>
${content}
</body>
</html>
`,
});
