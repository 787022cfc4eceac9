/** Settings with their values and where each comes from. Secrets show only whether they are set. */
import { useQuery } from '@tanstack/react-query';
import type { SettingReport } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { language, t } from '../language.ts';
import { Sentence } from '../parts/code.tsx';
import { Load, Page } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { pages } from '../texts.ts';

/** By name, where the language is another one than that of the API. */
const meanings = language === 'zh' ? (await import('../zh/settings.ts')).settings : {};

const COLUMNS: readonly Column<SettingReport>[] = [
  { head: 'Setting', cell: ({ name }) => <code>{name}</code>, phone: 'title' },
  { head: 'Value', cell: (setting) => <Value setting={setting} /> },
  {
    head: 'Source',
    cell: ({ source }) => (source === 'environment' ? <Badge tone="held">{t('environment')}</Badge> : t('default')),
    phone: 'side',
  },
  {
    head: 'Meaning',
    cell: ({ name, about }) => (
      <span className="muted">
        <Sentence text={meanings[name] ?? about} />
      </span>
    ),
    kind: 'prose',
  },
];

const Value = ({ setting: { value, secret } }: { readonly setting: SettingReport }) => {
  if (value === null) return <span className="muted">{t('not set')}</span>;
  return secret ? <span className="muted">{t('set, not shown')}</span> : <code className="break">{value}</code>;
};

export const Settings = () => {
  const query = useQuery({ queryKey: ['settings'], queryFn: () => admin.settings() });
  return (
    <Page title={pages.settings.title} lead={pages.settings.lead}>
      <Load query={query} things={pages.settings.things}>
        {({ data }) => (
          <Table
            caption={pages.settings.title}
            columns={COLUMNS}
            rows={data}
            rowKey={({ name }) => name}
            empty={pages.settings.empty}
          />
        )}
      </Load>
    </Page>
  );
};
