/** Go anywhere: pages by name, and objects by the form of their id. */
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import type { NavSection } from '../paths.ts';
import { paths } from '../paths.ts';
import { Dialog } from './dialog.tsx';

interface Target {
  readonly title: string;
  readonly hint: string;
  readonly path: string;
}

interface PaletteProps {
  readonly nav: readonly NavSection[];
  readonly isOperator: boolean;
  readonly close: () => void;
}

export const Palette = ({ nav, isOperator, close }: PaletteProps) => {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const targets = targetsOf(text.trim(), nav, isOperator);
  const go = (target: Target | undefined): void => {
    if (!target) return;
    close();
    void navigate({ to: target.path });
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((before) => Math.min(Math.max(before + step, 0), targets.length - 1));
    } else if (event.key === 'Enter') go(targets[chosen]);
  };
  return (
    <Dialog title="Go to" className="palette" onClose={close}>
      <input
        aria-label="Page or id"
        placeholder="A page, or an id such as req_…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-options"
        aria-activedescendant={targets[chosen] ? `palette-${chosen}` : undefined}
      />
      <div id="palette-options" role="listbox" aria-label="Pages">
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
            <span>{target.title}</span>
            <span className="muted">{target.hint}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
};

/** What an id opens, by its prefix; `req_`, `key_` and `task_` are given by the gateway. */
const OPERATOR_IDS = { req_: paths.request, key_: paths.key, task_: paths.task } as const;
const USER_IDS = { req_: paths.myRequest, key_: paths.myKey, task_: paths.myTask } as const;

function targetsOf(text: string, nav: readonly NavSection[], isOperator: boolean): Target[] {
  const wanted = text.toLowerCase();
  const known = nav.flatMap(({ title, entries }) =>
    entries
      .filter((entry) => entry.title.toLowerCase().includes(wanted))
      .map((entry) => ({ title: entry.title, hint: title ?? '', path: entry.path })),
  );
  const byId = Object.entries(isOperator ? OPERATOR_IDS : USER_IDS)
    .filter(([prefix]) => text.startsWith(prefix))
    .map(([, path]) => ({ title: text, hint: 'Open', path: path(text) }));
  const named = isOperator && text !== '' && byId.length === 0;
  return [
    ...byId,
    ...known,
    ...(named
      ? [
          { title: text, hint: 'User', path: paths.user(text) },
          { title: text, hint: 'Account', path: paths.account(text) },
        ]
      : []),
  ];
}
