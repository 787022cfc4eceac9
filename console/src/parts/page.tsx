/** The frame of a page: title, actions, and the three states of what it loads. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { Problem } from '../api/client.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Id, Time } from './values.tsx';

interface PageProps {
  readonly title: ReactNode;
  /** For the tab of the browser, when the title is not text. */
  readonly name?: string;
  readonly parent?: { readonly title: string; readonly path: string };
  readonly lead?: string | undefined;
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** Where the list of a page puts what its reader can set. */
const TOOLS_ID = 'page-tools';

export const PageTools = ({ children }: { readonly children: ReactNode }) => {
  const [place, setPlace] = useState<HTMLElement | null>(null);
  useEffect(() => setPlace(document.getElementById(TOOLS_ID)), []);
  return place && createPortal(children, place);
};

export const Page = ({ title, name, parent, lead, beside, actions, children }: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  const label = name ?? (typeof title === 'string' ? title : '');
  useEffect(() => {
    document.title = label === '' ? 'Dragoman' : `${label} · Dragoman`;
  }, [label]);
  // Screen readers announce the new page, and the tab order starts at its beginning.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <div className="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {parent && (
            <span className="crumbs">
              <Link to={parent.path} data-back="true">
                {parent.title}
              </Link>{' '}
              /{' '}
            </span>
          )}
          {title}
        </h1>
        {beside}
        <div className="actions row">
          <div id={TOOLS_ID} className="row" />
          {actions}
        </div>
      </div>
      {lead && <p className="lead">{lead}</p>}
      {children}
    </>
  );
};

interface LoadProps<T> {
  readonly query: UseQueryResult<T>;
  readonly things: string;
  readonly children: (data: T) => ReactNode;
  readonly lines?: number;
}

export function Load<T>({ query, things, children, lines = 8 }: LoadProps<T>) {
  if (query.data !== undefined)
    return (
      <>
        {query.isPaused && (
          <p className="notice" data-tone="warn" role="status">
            {texts.offline} <Time at={new Date(query.dataUpdatedAt).toISOString()} />
          </p>
        )}
        {query.isError && <LoadFailed error={query.error} things={things} retry={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  if (query.isError) return <LoadFailed error={query.error} things={things} retry={() => void query.refetch()} />;
  return <Skeleton lines={lines} />;
}

interface LoadFailedProps {
  readonly error: Error;
  readonly things: string;
  readonly retry: () => void;
}

export const LoadFailed = ({ error, things, retry }: LoadFailedProps) => {
  const isMissing = error instanceof Problem && error.status === 404 && error.code !== 'object_not_found';
  return (
    <div className="notice" data-tone="bad" role="alert">
      <span>{texts.couldNotLoad(things, isMissing ? texts.notOffered : error.message)}</span>
      <button type="button" onClick={retry}>
        {texts.retry}
      </button>
      {error instanceof Problem && error.requestId !== undefined && (
        <span className="muted small">
          <Id id={error.requestId} isWhole />
        </span>
      )}
    </div>
  );
};

export const Skeleton = ({ lines }: { readonly lines: number }) => (
  <div className="card" aria-busy="true">
    <div className="skeleton">
      {Array.from({ length: lines }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines never change places
        <i key={n} />
      ))}
    </div>
  </div>
);

interface CardProps {
  /** A text is a label of the console, never data. */
  readonly title?: ReactNode;
  readonly lead?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** A table brings its own edges. */
  readonly isFlush?: boolean;
}

export const Card = ({ title, lead, actions, children, isFlush }: CardProps) => (
  <section className="card">
    {(title || actions) && (
      <header>
        {title && <h2>{typeof title === 'string' ? t(title) : title}</h2>}
        {lead && <span className="muted">{lead}</span>}
        {actions && <div className="actions row">{actions}</div>}
      </header>
    )}
    {isFlush ? children : <div className="body">{children}</div>}
  </section>
);

type FactRow = readonly [label: string, value: ReactNode];

/** Rows without a value are left out. */
export const Facts = ({ rows }: { readonly rows: readonly (FactRow | undefined)[] }) => (
  <dl className="facts">
    {rows.map(
      (row) =>
        row &&
        row[1] !== undefined &&
        row[1] !== null && (
          <Fact key={row[0]} label={row[0]}>
            {row[1]}
          </Fact>
        ),
    )}
  </dl>
);

const Fact = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <>
    <dt>{t(label)}</dt>
    <dd>{children}</dd>
  </>
);
