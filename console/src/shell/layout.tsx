/**
 * The frame of both trees: navigation, keys, and who is signed in. Pages of the other role redirect to their own home.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Navigate, Outlet, useLocation, useMatches } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import type { ShownSession } from '../../../src/schemas/index.ts';
import { mine, session } from '../api/user.ts';
import icon from '../icon.svg';
import { t } from '../language.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { LoadFailed } from '../parts/page.tsx';
import { Palette } from '../parts/palette.tsx';
import { useShortcuts } from '../parts/shortcuts.ts';
import { notify } from '../parts/toast.tsx';
import { type NavSection, OPERATOR_NAV, paths, USER_NAV } from '../paths.ts';
import { texts } from '../texts.ts';
import { LanguageSwitch } from './language-switch.tsx';
import { enterSession, leaveSession, sessionQuery } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { switchTheme } from './theme.ts';

export const Layout = () => {
  const query = useQuery(sessionQuery);
  // Of the page that is shown: while another one loads, the location is already that of the next page.
  const page: string = useMatches().at(-1)?.fullPath ?? paths.home;
  if (query.isError)
    return (
      <main className="content">
        <LoadFailed error={query.error} things={t('the session')} retry={() => void query.refetch()} />
      </main>
    );
  if (!query.data) return <div aria-busy="true" />;
  if (!query.data.isSignedIn) return <SignIn hasOidc={query.data.hasOidc} isFirstRun={query.data.isFirstRun} />;
  const { person } = query.data.session;
  const isOperator = person.role === 'operator';
  if (page === paths.home || page === paths.signIn)
    return <Navigate to={isOperator ? paths.overview : paths.myKeys} replace />;
  // An operator with a user of their own also has the user's pages.
  if (!isOperator && !isUserPage(page)) return <Navigate to={paths.myKeys} replace />;
  return <Frame person={person} isUserTree={isUserPage(page)} />;
};

const isUserPage = (page: string): boolean => page.startsWith('/my/');

const Frame = ({ person, isUserTree }: { readonly person: ShownSession['person']; readonly isUserTree: boolean }) => {
  const [isDrawerOpen, setDrawer] = useState(false);
  const [overlay, setOverlay] = useState<'palette' | 'help'>();
  const { pathname } = useLocation();
  const openPalette = useCallback(() => setOverlay('palette'), []);
  const openHelp = useCallback(() => setOverlay('help'), []);
  useShortcuts({ openPalette, openHelp });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when the page changes
  useEffect(() => setDrawer(false), [pathname]);
  const nav = isUserTree ? USER_NAV : OPERATOR_NAV;
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <header className="topbar">
        <button type="button" className="quiet" aria-expanded={isDrawerOpen} onClick={() => setDrawer(true)}>
          <MenuIcon />
          <span className="hidden-label">{t('Menu')}</span>
        </button>
        <Brand />
        <div className="actions">
          <button type="button" className="quiet" onClick={openPalette}>
            {t('Go to')}
          </button>
        </div>
      </header>
      {isDrawerOpen && (
        <button type="button" className="drawer-back" aria-label={t('Close menu')} onClick={() => setDrawer(false)} />
      )}
      <aside className="sidebar" data-open={isDrawerOpen}>
        <Brand />
        <button type="button" className="goto" onClick={openPalette}>
          {t('Go to')} <kbd>⌘K</kbd>
        </button>
        <Navigation nav={nav} />
        <SidebarEnd person={person} isUserTree={isUserTree} />
      </aside>
      <main id="content" className="content" tabIndex={-1}>
        <Outlet />
      </main>
      {overlay === 'palette' && <Palette nav={nav} isOperator={!isUserTree} close={() => setOverlay(undefined)} />}
      {overlay === 'help' && <Help close={() => setOverlay(undefined)} />}
    </div>
  );
};

const Brand = () => (
  <Link to={paths.home} className="brand">
    <img src={icon} alt="" />
    Dragoman
  </Link>
);

const Navigation = ({ nav }: { readonly nav: readonly NavSection[] }) => (
  <nav className="nav" aria-label={t('Pages')}>
    {nav.map(({ title, entries }) => (
      <div key={title ?? entries[0]?.path}>
        {title && <div className="nav-section">{title}</div>}
        {entries.map((entry) => (
          <Link key={entry.path} to={entry.path} activeProps={{ 'aria-current': 'page' }}>
            {entry.title}
          </Link>
        ))}
      </div>
    ))}
  </nav>
);

const SidebarEnd = ({
  person,
  isUserTree,
}: {
  readonly person: ShownSession['person'];
  readonly isUserTree: boolean;
}) => {
  const client = useQueryClient();
  return (
    <div className="sidebar-end">
      <div className="whoami">
        <div>{person.name}</div>
        <div className="muted small">{person.email}</div>
      </div>
      <div className="row">
        {person.role === 'operator' && (person.user !== null || isUserTree) && (
          <Link to={isUserTree ? paths.overview : paths.myKeys} className="small">
            {isUserTree ? t('Operator pages') : t('My keys')}
          </Link>
        )}
        <a href="/docs" className="small">
          {t('API reference')}
        </a>
        {person.user !== null && (
          <a href={mine.exportData()} className="small" download>
            {t('Export my data')}
          </a>
        )}
        <button type="button" className="quiet" onClick={switchTheme}>
          {t('Theme')}
        </button>
        <LanguageSwitch />
        <Opener className="quiet" label="Password">
          {(close) => (
            <FormDialog
              title="Change password"
              close={close}
              action="Change password"
              fields={[
                { name: 'current', label: 'Current password', kind: 'password', isRequired: true },
                {
                  name: 'password',
                  label: 'New password',
                  kind: 'password',
                  isRequired: true,
                  hint: texts.link.passwordHint,
                },
              ]}
              submit={async (values) => {
                enterSession(client, await session.changePassword(values));
                notify(texts.done.passwordChanged);
              }}
            />
          )}
        </Opener>
        <button type="button" className="quiet" onClick={() => void leaveSession(client)}>
          {t('Sign out')}
        </button>
      </div>
    </div>
  );
};

const Help = ({ close }: { readonly close: () => void }) => (
  <Dialog title={texts.help.title} onClose={close} isRead>
    <table>
      <caption>{texts.help.title}</caption>
      <tbody>
        {texts.help.rows.map(([keys, meaning]) => (
          <tr key={keys}>
            <td>
              <kbd>{keys}</kbd>
            </td>
            <td>{meaning}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Dialog>
);

const MenuIcon = () => (
  <svg aria-hidden="true" width="20" height="20" viewBox="0 0 20 20" stroke="currentColor" strokeWidth="1.6">
    <path d="M3 5.5h14M3 10h14M3 14.5h14" />
  </svg>
);
