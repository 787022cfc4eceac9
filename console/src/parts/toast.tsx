/** Short confirmations in a live region. */
import { useSyncExternalStore } from 'react';

interface Toast {
  readonly id: number;
  readonly text: string;
}

const SHOWN_MS = 4_000;
const MAX_SHOWN = 3;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

export function notify(text: string): void {
  lastId += 1;
  const toast = { id: lastId, text };
  update([...toasts, toast].slice(-MAX_SHOWN));
  setTimeout(() => update(toasts.filter(({ id }) => id !== toast.id)), SHOWN_MS);
}

function update(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const Toasts = () => {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div className="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
};
