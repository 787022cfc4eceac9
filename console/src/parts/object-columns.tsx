/** Columns of what users keep. Users never see the account. */
import type { KeptObject, OperatorObject } from '../../../src/schemas/index.ts';
import { bytesText, countText } from '../format/count.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Opener } from './dialog.tsx';
import type { Filter } from './filters.tsx';
import { FormDialog } from './form.tsx';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Id, None, Time } from './values.tsx';

type Kept = KeptObject & Partial<OperatorObject>;

const TONES: Readonly<Record<string, Tone>> = { running: 'warn', ended: 'ok', failed: 'bad' };

const KINDS = {
  file: t('File'),
  batch: t('Batch'),
  conversation: t('Conversation'),
  cache: t('Cached content'),
  container: t('Container'),
} as const satisfies Record<Kept['kind'], string>;
export const KIND_FILTER: Filter = { name: 'kind', label: 'Kind', options: Object.entries(KINDS) };

interface Tree {
  readonly reader: 'operator' | 'user';
  readonly remove: (object: Kept) => Promise<unknown>;
  /** The first part of the keys of its queries. */
  readonly queries: string;
}

export function objectColumns({ reader, ...tree }: Tree): Column<Kept>[] {
  const all: (Column<Kept> & { readonly only?: 'operator' })[] = [
    { head: 'Name', cell: ({ name, id }) => name ?? <Id id={id} canCopy={false} />, phone: 'title', kind: 'grow' },
    { head: 'Kind', cell: Kind, value: ({ kind }) => kind },
    { head: 'User', cell: ({ user }) => user, only: 'operator' },
    { head: 'Id', cell: ({ id }) => <Id id={id} />, phone: 'hide' },
    {
      head: 'Stored size',
      cell: ({ bytes, tokens }) => {
        if (tokens !== null) return texts.counts.tokens(countText(tokens));
        return bytes === null ? <None /> : bytesText(bytes);
      },
      kind: 'number',
      value: ({ bytes, tokens }) => bytes ?? tokens,
      phone: 'side',
    },
    { head: 'Key', cell: ({ key }) => <Id id={key} />, only: 'operator', phone: 'hide', isExtra: true },
    { head: 'Account', cell: ({ account }) => account ?? <None />, only: 'operator', phone: 'hide', isExtra: true },
    { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide', isExtra: true },
    { head: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} /> },
    { head: 'Delete', cell: (object) => <DeleteObject object={object} {...tree} />, kind: 'actions' },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}

const Kind = ({ kind, state }: Kept) => (
  <>
    {KINDS[kind]} {state && <State tone={TONES[state] ?? 'muted'}>{state}</State>}
  </>
);

const DeleteObject = ({ object, remove, queries }: Omit<Tree, 'reader'> & { readonly object: Kept }) => (
  <Opener label="Delete" className="danger">
    {(close) => (
      <FormDialog
        title={`${t('Delete')} ${object.name ?? object.id}`}
        explain={texts.objects.remove[object.kind]}
        close={close}
        action="Delete object"
        isDanger
        fields={[]}
        submit={() => remove(object)}
        refreshes={[queries]}
        done={texts.objects.removed}
      />
    )}
  </Opener>
);
