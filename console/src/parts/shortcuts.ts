/** Keys for lists: one listener for the whole console. Typing in a field is never taken for a key. */
import { useEffect } from 'react';
import { copyText } from './values.tsx';

export interface ShortcutActions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

export function useShortcuts({ openPalette, openHelp }: ShortcutActions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || hasDialog()) return;
      const action = ACTIONS[event.key] ?? (event.key === '?' ? openHelp : undefined);
      if (!action) return;
      action();
      if (event.key !== 'Escape') event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [openPalette, openHelp]);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName));

const hasDialog = (): boolean => document.querySelector('dialog[open]') !== null;

const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': () => document.querySelector<HTMLElement>('.filters :is(input, select)')?.focus(),
  j: () => move(1),
  k: () => move(-1),
  c: () => {
    const id = focusedRow()?.dataset.id;
    if (id !== undefined) void copyText(id);
  },
  Escape: () => document.querySelector<HTMLAnchorElement>('a[data-back]')?.click(),
};

const focusedRow = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>('tr[data-id]') ?? null;

function move(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('.row-link')];
  const current = links.findIndex((link) => link.closest('tr') === focusedRow());
  const next = current < 0 ? (step > 0 ? 0 : links.length - 1) : current + step;
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: 'nearest' });
}
