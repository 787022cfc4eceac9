/** Go anywhere: pages by name, and objects that the API finds. Enter opens only what exists. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useState } from 'react';
import type { Hit } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { mine } from '../api/user.ts';
import { t } from '../language.ts';
import type { NavSection } from '../paths.ts';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { Dialog } from './dialog.tsx';
import { ARROW_STEPS, usePaused } from './picker.tsx';

interface Target {
  readonly title: string;
  readonly hint: string;
  readonly kind: string;
  readonly path: string;
}

interface PaletteProps {
  readonly nav: readonly NavSection[];
  readonly isOperator: boolean;
  readonly close: () => void;
}

const MAX_HITS = 5;

export const Palette = ({ nav, isOperator, close }: PaletteProps) => {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isWaiting, setWaiting] = useState(false);
  const wanted = text.trim();
  const asked = usePaused(wanted);
  const found = useQuery({
    queryKey: ['search', 'palette', isOperator, asked],
    queryFn: ({ signal }) => (isOperator ? admin : mine).search({ text: asked, limit: MAX_HITS }, signal),
    enabled: asked !== '',
    placeholderData: (before) => before,
  });
  const isCurrent = wanted === '' || (asked === wanted && !found.isPlaceholderData && !found.isPending);
  const hits = wanted === '' ? [] : (found.data?.data ?? []).map((hit) => targetOf(hit, isOperator));
  const targets = [...pagesOf(wanted, nav), ...hits];
  const go = (target: Target | undefined): void => {
    if (!target) return;
    close();
    void navigate({ to: target.path });
  };
  // Enter before the answer opens the first hit when it is there.
  useEffect(() => {
    if (!isWaiting || !isCurrent) return;
    setWaiting(false);
    go(targets[chosen]);
  });
  const onKey = (event: KeyboardEvent): void => {
    const step = ARROW_STEPS[event.key] ?? 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((before) => Math.min(Math.max(before + step, 0), targets.length - 1));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      setWaiting(true);
    }
  };
  return (
    <Dialog title={t('Go to')} className="palette" onClose={close}>
      <input
        aria-label={t('Page, name or id')}
        placeholder={isOperator ? texts.palette.operator : texts.palette.user}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
          setWaiting(false);
        }}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-options"
        aria-activedescendant={targets[chosen] ? `palette-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
      />
      <div id="palette-options" role="listbox" aria-label={t('Pages and objects')} aria-busy={!isCurrent}>
        {targets.map((target, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option
          <div
            key={target.path}
            id={`palette-${n}`}
            role="option"
            aria-selected={n === chosen}
            onClick={() => go(target)}
            onPointerEnter={() => setChosen(n)}
          >
            <span className="palette-kind">{target.kind}</span>
            <span className="palette-title">{target.title}</span>
            <span className="muted">{target.hint}</span>
          </div>
        ))}
      </div>
      {targets.length === 0 && isCurrent && <p className="muted palette-none">{texts.palette.none}</p>}
    </Dialog>
  );
};

const pagesOf = (wanted: string, nav: readonly NavSection[]): Target[] =>
  nav.flatMap(({ title, entries }) =>
    entries
      .filter((entry) => entry.title.toLowerCase().includes(wanted.toLowerCase()))
      .map((entry) => ({ title: entry.title, hint: title ?? '', kind: t('Page'), path: entry.path })),
  );

const KINDS: Readonly<Record<Hit['kind'], string>> = {
  user: 'User',
  key: 'Key',
  account: 'Account',
  group: 'Group',
  model: 'Model',
  request: 'Request',
  task: 'Task',
  person: 'Person',
};

function targetOf({ kind, id, title, detail, group }: Hit, isOperator: boolean): Target {
  const path = {
    user: paths.user,
    key: isOperator ? paths.key : paths.myKey,
    account: paths.account,
    group: () => paths.groups,
    model: () => paths.model(group ?? '', id),
    request: isOperator ? paths.request : paths.myRequest,
    task: isOperator ? paths.task : paths.myTask,
    person: () => paths.people,
  }[kind](id);
  return { title, hint: detail ?? '', kind: t(KINDS[kind]), path };
}
