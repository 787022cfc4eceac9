/** Keys in both trees: columns, the form fields, and the dialog that shows a value once. */
import { Link } from '@tanstack/react-router';
import type { GroupStyle, KeyWithValue, ShownKey, ShownLimits } from '../../../src/schemas/index.ts';
import { yesOrNo } from '../format/answer.ts';
import { t } from '../language.ts';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { ClientSnippets } from './client-snippets.tsx';
import type { FieldSpec } from './form.tsx';
import { Once } from './once.tsx';
import { Facts } from './page.tsx';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Time } from './values.tsx';

const TONES: Readonly<Record<ShownKey['state'], Tone>> = { valid: 'ok', expired: 'muted', revoked: 'muted' };
const WORDS: Readonly<Record<ShownKey['state'], string>> = { valid: 'Active', expired: 'Expired', revoked: 'Revoked' };

export const KeyState = ({ state }: Pick<ShownKey, 'state'>) => <State tone={TONES[state]}>{t(WORDS[state])}</State>;

/** One line: "60 rpm · $5.00 a day". */
export function limitsText({ rpm, tpm, concurrency, spend_day, spend_month, spend_total }: ShownLimits): string {
  const parts = [
    rpm === undefined ? undefined : `${rpm} rpm`,
    tpm === undefined ? undefined : `${tpm} tpm`,
    concurrency === undefined ? undefined : texts.limits.atOnce(concurrency),
    spend_day === undefined ? undefined : texts.limits.day(`$${spend_day}`),
    spend_month === undefined ? undefined : texts.limits.month(`$${spend_month}`),
    spend_total === undefined ? undefined : texts.limits.total(`$${spend_total}`),
  ].filter((part) => part !== undefined);
  return parts.join(' · ') || t('none');
}

export const KEY_COLUMNS: readonly Column<ShownKey>[] = [
  { head: 'Name', cell: ({ name }) => name, phone: 'title', sort: 'name' },
  { head: 'State', cell: ({ state }) => <KeyState state={state} />, phone: 'side' },
  { head: 'Key', cell: ({ hint }) => <code>{hint}</code> },
  { head: 'User', cell: ({ user }) => <Link to={paths.user(user)}>{user}</Link>, sort: 'user' },
  { head: 'Group', cell: ({ groups }) => groups.join(', ') },
  { head: 'Limits', cell: (key) => <span className="muted">{limitsText(key)}</span>, phone: 'hide' },
  { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide', sort: 'created' },
];

/** Where all keys are of one user. */
export const OWN_KEY_COLUMNS = KEY_COLUMNS.filter(({ head }) => head !== 'User');

export const LIMIT_FIELDS = (key: ShownLimits = {}): readonly (FieldSpec | readonly FieldSpec[])[] => [
  [
    { name: 'rpm', label: 'Requests a minute', kind: 'number', value: key.rpm },
    { name: 'tpm', label: 'Tokens a minute', kind: 'number', value: key.tpm },
    { name: 'concurrency', label: 'At once', kind: 'number', value: key.concurrency },
  ],
  [
    { name: 'spend_day', label: 'Dollars a day', value: key.spend_day, placeholder: '5.00' },
    { name: 'spend_month', label: 'Dollars a month', value: key.spend_month, placeholder: '100' },
  ],
];

export const KEY_FIELDS = (key: Partial<ShownKey> = {}): readonly (FieldSpec | readonly FieldSpec[])[] => [
  {
    name: 'groups',
    label: 'Groups',
    kind: 'list',
    value: key.groups && key.groups.length > 1 ? key.groups : undefined,
    hint: texts.key.groups,
    isFolded: true,
  },
  {
    name: 'prefer',
    label: 'Among its groups',
    kind: 'choice',
    value: key.prefer ?? 'order',
    options: [
      ['order', t('The first with the model')],
      ['native', t('The first that needs no conversion')],
    ],
    isRequired: true,
    isFolded: true,
  },
  ...LIMIT_FIELDS(key),
  { name: 'spend_total', label: 'Dollars in all', value: key.spend_total, placeholder: '20', hint: texts.key.total },
  {
    name: 'models',
    label: 'Models',
    kind: 'list',
    value: key.models,
    hint: texts.key.models,
  },
  {
    name: 'addresses',
    label: 'Addresses',
    kind: 'list',
    value: key.addresses,
    hint: texts.key.addresses,
  },
  { name: 'expires_at', label: 'Expires (UTC)', kind: 'time', value: key.expires_at },
  {
    name: 'auto_cache',
    label: 'Automatic caching',
    kind: 'check',
    value: key.auto_cache ?? true,
    hint: texts.key.autoCache,
  },
];

export const KeyFacts = ({ value: key }: { readonly value: ShownKey }) => (
  <Facts
    rows={[
      ['Group', key.groups.join(', ')],
      ['Among its groups', key.prefer === 'native' ? t('The first that needs no conversion') : undefined],
      ['Video groups', key.video_groups ? key.video_groups.join(', ') : undefined],
      ['Limits', limitsText(key)],
      ['Models', key.models ? key.models.join(', ') : t('all of the group')],
      ['Addresses', key.addresses ? key.addresses.join(', ') : t('all')],
      ['Stores responses', yesOrNo(key.store)],
      ['Automatic caching', yesOrNo(key.auto_cache)],
      [texts.capture.until, key.capture_until ? <Time key="capture" at={key.capture_until} /> : undefined],
      ['Expires', key.expires_at ? <Time key="end" at={key.expires_at} /> : t('never')],
      ['Made', <Time key="made" at={key.created_at} />],
      ['Revoked', key.revoked_at ? <Time key="revoked" at={key.revoked_at} /> : undefined],
    ]}
  />
);

interface KeyCreatedProps {
  readonly made: KeyWithValue;
  readonly style: GroupStyle;
  readonly model: string;
  readonly close: () => void;
}

export const KeyCreated = ({ made, style, model, close }: KeyCreatedProps) => (
  <Once title={`${t('Key')} ${made.name}`} warning={texts.key.shownOnce} value={made.value} close={close}>
    <ClientSnippets style={style} model={model} value={made.value} />
  </Once>
);
