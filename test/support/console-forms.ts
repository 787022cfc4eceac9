/** Every form of the console: where it is, how it is opened and filled, and the operation that it submits. */
import type { Reader } from './console-pages.ts';
import { FAILING_ACCOUNT, type Scene } from './console-scene.ts';

export interface ConsoleForm {
  /** The label of the button that submits it. */
  readonly action: string;
  readonly path: string;
  readonly reader?: Reader;
  /** Labels of the buttons that lead to it, in order. */
  readonly open?: readonly string[];
  /** The part of the page that has the first of these buttons. */
  readonly within?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly choices?: Readonly<Record<string, string>>;
  readonly file?: boolean;
  /** The form before it leads to it. */
  readonly follows?: boolean;
  /** Method and address; `*` is an id. */
  readonly operation: string;
  /** Another value of the first field, which a second tab enters before the first one saves. */
  readonly other?: string;
}

const row = (id: string): string => `tr[data-id="${id}"]`;
const card = (title: string): string => `.card:has(> header h2:text-is("${title}"))`;
const REASON = { Reason: 'by the test' } as const;

/**
 * In an order in which each finds what it needs. `key` belongs to ana, `own` to the person who reads the user's pages.
 */
export function consoleForms(scene: Scene, own: string): readonly ConsoleForm[] {
  const ana = '/users/ana';
  const key = `/keys/${scene.key}`;
  const model = '/models/messages/demo-messages';
  const destination = { path: '/warnings?tab=destinations', within: 'tbody tr' } as const;
  const pat = { path: '/people', within: 'tbody tr:has-text("pat@example.test")' } as const;
  const mine = (form: Omit<ConsoleForm, 'reader'>): ConsoleForm => ({ ...form, reader: 'user' });
  return [
    {
      action: 'Make user',
      path: '/users',
      open: ['Make user'],
      fields: { Id: 'new-user' },
      operation: 'POST /admin/v1/users',
    },
    {
      action: 'Save user',
      path: ana,
      open: ['Edit user'],
      fields: { Multiplier: '1.1' },
      other: '1.2',
      operation: 'PATCH /admin/v1/users/*',
    },
    {
      action: 'Book credit',
      path: ana,
      open: ['Credit'],
      fields: { 'Amount in dollars': '5', Reason: 'paid', Reference: 'invoice-2' },
      operation: 'POST /admin/v1/credits',
    },
    { action: 'Make key', path: ana, open: ['Make key'], fields: { Name: 'desk' }, operation: 'POST /admin/v1/keys' },
    {
      action: 'Save key',
      path: key,
      open: ['Edit key'],
      fields: { 'Requests a minute': '50' },
      other: '51',
      operation: 'PATCH /admin/v1/keys/*',
    },
    {
      action: 'Start capture',
      path: key,
      open: ['Capture'],
      fields: { Hours: '2' },
      operation: 'POST /admin/v1/keys/*/capture',
    },
    { action: 'End capture', path: key, open: ['End capture'], operation: 'POST /admin/v1/keys/*/capture' },
    {
      action: 'Rotate key',
      path: key,
      open: ['Rotate'],
      fields: { 'Overlap in hours': '2' },
      operation: 'POST /admin/v1/keys/*/rotate',
    },
    { action: 'Revoke key', path: key, open: ['Revoke'], fields: REASON, operation: 'POST /admin/v1/keys/*/revoke' },
    {
      action: 'Add group',
      path: '/groups',
      open: ['Add group'],
      fields: { Id: 'second' },
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Save group',
      path: '/groups',
      within: row('second'),
      open: ['Edit'],
      fields: { Name: 'Second' },
      other: 'Third',
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Add account',
      path: '/accounts',
      open: ['Add account'],
      choices: { Group: 'second' },
      fields: { 'Id of the account': 'second-1', 'Base URL': 'https://provider.example/v1', Credential: 'sk-second' },
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Save account',
      path: `/accounts/${FAILING_ACCOUNT}`,
      open: ['Edit account'],
      fields: { Weight: '2' },
      other: '3',
      operation: 'PATCH /admin/v1/accounts/*',
    },
    {
      action: 'Run test',
      path: '/accounts/demo-responses',
      open: ['Test'],
      fields: { Model: 'demo-responses' },
      operation: 'POST /admin/v1/accounts/*/test',
    },
    {
      action: 'Park account',
      path: '/accounts/second-1',
      open: ['Park'],
      fields: REASON,
      operation: 'POST /admin/v1/accounts/*/park',
    },
    {
      action: 'Resume account',
      path: '/accounts/second-1',
      open: ['Resume'],
      operation: 'POST /admin/v1/accounts/*/resume',
    },
    {
      action: 'Drain account',
      path: '/accounts/second-1',
      open: ['Drain'],
      fields: REASON,
      operation: 'POST /admin/v1/accounts/*/drain',
    },
    {
      action: 'Add model',
      path: '/models',
      open: ['Add model'],
      choices: { Group: 'responses' },
      fields: { Model: 'gpt-5', 'Price input': '1', 'Price output': '2' },
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Save price',
      path: model,
      open: ['Set price'],
      fields: { 'Price input': '4' },
      other: '5',
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Save fallback',
      path: model,
      open: ['Set fallback'],
      fields: { Fallback: 'responses/demo-responses' },
      other: 'generate/demo-generate',
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Save capabilities',
      path: model,
      open: ['Set capabilities'],
      fields: { Capabilities: '{"imageInput": true}' },
      other: '{"imageInput": false}',
      operation: 'PUT /admin/v1/config',
    },
    {
      action: 'Preview changes',
      path: '/models',
      open: ['Import'],
      fields: { 'Configuration as JSON': '{"groups": [{"id": "third", "style": "messages"}]}' },
      operation: 'PUT /admin/v1/config',
    },
    { action: 'Apply changes', path: '/models', follows: true, operation: 'PUT /admin/v1/config' },
    {
      action: 'Preview changes',
      path: '/models',
      open: ['Import prices'],
      choices: { Group: 'responses' },
      fields: { Multiplier: '2', Provider: 'openai' },
      operation: 'POST /admin/v1/prices/import',
    },
    { action: 'Apply changes', path: '/models', follows: true, operation: 'POST /admin/v1/prices/import' },
    {
      action: 'Add character',
      path: '/characters',
      open: ['Add character'],
      choices: { Group: 'video-ep' },
      fields: { Id: 'bert', Name: 'Bert', Models: 'demo-video-2-0-ep', 'Asset at the provider': 'asset-2' },
      operation: 'POST /admin/v1/characters',
    },
    {
      action: 'Upload picture',
      path: '/characters',
      within: row('bert'),
      open: ['Picture'],
      file: true,
      operation: 'PUT /admin/v1/characters/*/preview',
    },
    {
      action: 'Publish character',
      path: '/characters',
      within: row('bert'),
      open: ['Publish'],
      operation: 'POST /admin/v1/characters/*/publish',
    },
    {
      action: 'Unpublish character',
      path: '/characters',
      within: row('bert'),
      open: ['Unpublish'],
      operation: 'POST /admin/v1/characters/*/unpublish',
    },
    {
      action: 'Delete character',
      path: '/characters',
      within: row('bert'),
      open: ['Delete'],
      operation: 'DELETE /admin/v1/characters/*',
    },
    {
      action: 'Delete object',
      path: '/objects',
      within: 'tbody tr:has-text("Product sheet")',
      open: ['Delete'],
      operation: 'DELETE /admin/v1/users/*/objects/*',
    },
    mine({
      action: 'Delete object',
      path: '/my/objects',
      within: 'tbody tr:has-text("questions.jsonl")',
      open: ['Delete'],
      operation: 'DELETE /console/v1/objects/*',
    }),
    {
      action: 'Redeliver callback',
      path: `/callbacks/${scene.callback}`,
      open: ['Redeliver'],
      fields: REASON,
      operation: 'POST /admin/v1/callbacks/*/redeliver',
    },
    {
      action: 'Send test',
      path: `/callbacks/${scene.callback}`,
      open: ['Send test callback'],
      operation: 'POST /admin/v1/callbacks/test',
    },
    {
      action: 'Settle',
      path: '/review',
      within: card('Holds in review'),
      open: ['Settle'],
      fields: { 'Tokens on the bill': '1000', ...REASON },
      operation: 'POST /admin/v1/reviews/*/settle',
    },
    {
      action: 'Dismiss',
      path: '/review',
      within: card('Unknown submissions'),
      open: ['Dismiss'],
      fields: REASON,
      operation: 'POST /admin/v1/submissions/*/dismiss',
    },
    {
      action: 'Assign',
      path: '/review',
      within: card('Unknown submissions'),
      open: ['Assign'],
      fields: REASON,
      operation: 'POST /admin/v1/submissions/*/assign',
    },
    {
      action: 'Charge',
      path: '/review',
      within: card('Quarantined records'),
      open: ['Charge'],
      fields: { 'Amount in dollars': '0.01', ...REASON },
      operation: 'POST /admin/v1/quarantine/*/resolve',
    },
    {
      action: 'Invite person',
      path: '/people',
      open: ['Invite person'],
      fields: { 'E-mail': 'pat@example.test', Name: 'Pat', User: 'ana' },
      operation: 'POST /admin/v1/people',
    },
    {
      ...pat,
      action: 'Save person',
      open: ['Edit'],
      fields: { Name: 'Patricia' },
      other: 'Patrick',
      operation: 'PATCH /admin/v1/people/*',
    },
    { ...pat, action: 'New link', open: ['New link'], operation: 'POST /admin/v1/people/*/reset' },
    { ...pat, action: 'Disable', open: ['Disable'], operation: 'PATCH /admin/v1/people/*' },
    { ...pat, action: 'Enable', open: ['Enable'], operation: 'PATCH /admin/v1/people/*' },
    {
      action: 'Add destination',
      path: destination.path,
      open: ['Add destination'],
      fields: { Name: 'chat', URL: 'https://hooks.example/one' },
      operation: 'POST /admin/v1/warning-destinations',
    },
    {
      ...destination,
      action: 'Save destination',
      open: ['Edit'],
      fields: { Name: 'room' },
      other: 'hall',
      operation: 'PATCH /admin/v1/warning-destinations/*',
    },
    {
      ...destination,
      action: 'Delete destination',
      open: ['Delete'],
      operation: 'DELETE /admin/v1/warning-destinations/*',
    },
    {
      action: 'Add warning',
      path: '/warnings',
      open: ['Add warning'],
      fields: { 'Below (US dollars)': '5', Name: 'low' },
      operation: 'POST /admin/v1/warnings',
    },
    {
      action: 'Save warning',
      path: '/warnings',
      within: 'tbody tr',
      open: ['Edit'],
      fields: { Name: 'lower' },
      other: 'lowest',
      operation: 'PATCH /admin/v1/warnings/*',
    },
    {
      action: 'Delete warning',
      path: '/warnings',
      within: 'tbody tr',
      open: ['Delete'],
      operation: 'DELETE /admin/v1/warnings/*',
    },
    {
      action: 'Erase user',
      path: '/users/studio-north',
      open: ['Erase user'],
      fields: { 'Id of the user': 'studio-north' },
      operation: 'POST /admin/v1/users/*/erase',
    },
    mine({
      action: 'Make key',
      path: '/my/keys',
      open: ['Make key'],
      fields: { Name: 'mine' },
      operation: 'POST /console/v1/keys',
    }),
    mine({
      action: 'Save key',
      path: `/my/keys/${own}`,
      open: ['Edit key'],
      fields: { 'Requests a minute': '50' },
      other: '51',
      operation: 'PATCH /console/v1/keys/*',
    }),
    mine({
      action: 'Start capture',
      path: `/my/keys/${own}`,
      open: ['Capture'],
      fields: { Hours: '2' },
      operation: 'POST /console/v1/keys/*/capture',
    }),
    mine({
      action: 'Rotate key',
      path: `/my/keys/${own}`,
      open: ['Rotate'],
      fields: { 'Overlap in hours': '2' },
      operation: 'POST /console/v1/keys/*/rotate',
    }),
    mine({
      action: 'Revoke key',
      path: `/my/keys/${own}`,
      open: ['Revoke'],
      operation: 'POST /console/v1/keys/*/revoke',
    }),
    mine({
      action: 'Add warning',
      path: '/my/warnings',
      open: ['Add warning'],
      fields: { 'Below (US dollars)': '5' },
      operation: 'POST /console/v1/warnings',
    }),
    mine({
      action: 'Change password',
      path: '/my/keys',
      open: ['Password'],
      fields: { 'Current password': PASSWORD, 'New password': `${PASSWORD}, changed` },
      operation: 'POST /console/v1/password',
    }),
  ];
}

/** Of the people who submit them. */
export const PASSWORD = 'a password for the forms';
