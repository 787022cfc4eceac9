/** Tabs of a page, in the address. A change of the tab drops the filters of the other one. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Search } from '../search.ts';

/** The chosen tab; the first one by default. */
export function useTab<N extends string>(names: readonly [N, ...N[]]): N {
  const search = useSearch({ strict: false }) as Search;
  return names.find((name) => name === search.tab) ?? names[0];
}

interface TabsProps<N extends string> {
  readonly labels: Readonly<Record<N, string>>;
  readonly chosen: N;
}

export function Tabs<N extends string>({ labels, chosen }: TabsProps<N>) {
  const navigate = useNavigate();
  return (
    <div className="segments">
      {(Object.entries(labels) as [N, string][]).map(([name, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          onClick={() => void navigate({ to: '.', search: () => ({ tab: name }), replace: true })}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
