/** The route tree. Every page is loaded when it is first opened. */
import type { QueryClient } from '@tanstack/react-query';
import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent, Outlet } from '@tanstack/react-router';
import { paths } from './paths.ts';
import { parseSearch, stringifySearch } from './search.ts';
import { Alone } from './shell/alone.tsx';
import { Layout } from './shell/layout.tsx';
import { sessionQuery } from './shell/session.ts';
import { texts } from './texts.ts';

const operator = {
  '/overview': lazyRouteComponent(() => import('./operator/overview.tsx'), 'Overview'),
  '/first-steps': lazyRouteComponent(() => import('./operator/first-steps.tsx'), 'FirstSteps'),
  '/requests': lazyRouteComponent(() => import('./operator/requests.tsx'), 'Requests'),
  '/requests/$request': lazyRouteComponent(() => import('./operator/request.tsx'), 'RequestPage'),
  '/tasks': lazyRouteComponent(() => import('./operator/tasks.tsx'), 'Tasks'),
  '/tasks/$task': lazyRouteComponent(() => import('./operator/tasks.tsx'), 'TaskPage'),
  '/callbacks': lazyRouteComponent(() => import('./operator/callbacks.tsx'), 'Callbacks'),
  '/callbacks/$event': lazyRouteComponent(() => import('./operator/callbacks.tsx'), 'CallbackPage'),
  '/groups': lazyRouteComponent(() => import('./operator/groups.tsx'), 'Groups'),
  '/accounts': lazyRouteComponent(() => import('./operator/accounts.tsx'), 'Accounts'),
  '/accounts/$account': lazyRouteComponent(() => import('./operator/account.tsx'), 'AccountPage'),
  '/models': lazyRouteComponent(() => import('./operator/models.tsx'), 'Models'),
  '/models/$group/$model': lazyRouteComponent(() => import('./operator/model.tsx'), 'ModelPage'),
  '/characters': lazyRouteComponent(() => import('./operator/characters.tsx'), 'Characters'),
  '/users': lazyRouteComponent(() => import('./operator/users.tsx'), 'Users'),
  '/users/$user': lazyRouteComponent(() => import('./operator/user.tsx'), 'UserPage'),
  '/keys': lazyRouteComponent(() => import('./operator/keys.tsx'), 'Keys'),
  '/keys/$key': lazyRouteComponent(() => import('./operator/keys.tsx'), 'KeyPage'),
  '/assets': lazyRouteComponent(() => import('./operator/assets.tsx'), 'Assets'),
  '/objects': lazyRouteComponent(() => import('./operator/objects.tsx'), 'Objects'),
  '/ledger': lazyRouteComponent(() => import('./operator/ledger.tsx'), 'Ledger'),
  '/review': lazyRouteComponent(() => import('./operator/review.tsx'), 'ReviewPage'),
  '/warnings': lazyRouteComponent(() => import('./operator/warnings.tsx'), 'Warnings'),
  '/audit': lazyRouteComponent(() => import('./operator/audit.tsx'), 'Audit'),
  '/people': lazyRouteComponent(() => import('./operator/people.tsx'), 'People'),
  '/settings': lazyRouteComponent(() => import('./operator/settings.tsx'), 'Settings'),
} as const;

const user = {
  '/my/keys': lazyRouteComponent(() => import('./user/keys.tsx'), 'MyKeys'),
  '/my/keys/$key': lazyRouteComponent(() => import('./user/keys.tsx'), 'MyKeyPage'),
  '/my/models': lazyRouteComponent(() => import('./user/models.tsx'), 'MyModels'),
  '/my/usage': lazyRouteComponent(() => import('./user/usage.tsx'), 'MyUsage'),
  '/my/statement': lazyRouteComponent(() => import('./user/usage.tsx'), 'MyStatement'),
  '/my/requests': lazyRouteComponent(() => import('./user/requests.tsx'), 'MyRequests'),
  '/my/requests/$request': lazyRouteComponent(() => import('./user/requests.tsx'), 'MyRequestPage'),
  '/my/tasks': lazyRouteComponent(() => import('./user/tasks.tsx'), 'MyTasks'),
  '/my/tasks/$task': lazyRouteComponent(() => import('./user/tasks.tsx'), 'MyTaskPage'),
  '/my/assets': lazyRouteComponent(() => import('./user/assets.tsx'), 'MyAssets'),
  '/my/objects': lazyRouteComponent(() => import('./user/objects.tsx'), 'MyObjects'),
  '/my/warnings': lazyRouteComponent(() => import('./user/warnings.tsx'), 'MyWarnings'),
  '/my/playground': lazyRouteComponent(() => import('./user/playground.tsx'), 'Playground'),
} as const;

const linkPage = lazyRouteComponent(() => import('./shell/link.tsx'), 'LinkPage');

export function createConsoleRouter(client: QueryClient) {
  const root = createRootRoute({ component: Outlet });
  const link = createRoute({ getParentRoute: () => root, path: '/link', component: linkPage });
  const layout = createRoute({
    getParentRoute: () => root,
    id: 'layout',
    component: Layout,
    // A failure is shown by the layout, which reads the same query.
    loader: () => client.ensureQueryData(sessionQuery).catch(() => undefined),
  });
  const homes = ['/', '/sign-in'].map((path) =>
    createRoute({ getParentRoute: () => layout, path, component: () => null }),
  );
  const pages = Object.entries({ ...operator, ...user }).map(([path, component]) =>
    createRoute({ getParentRoute: () => layout, path, component }),
  );
  return createRouter({
    routeTree: root.addChildren([link, layout.addChildren([...homes, ...pages])]),
    basepath: '/console',
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultNotFoundComponent: () => (
      <Alone title={texts.notHere}>
        <Link to={paths.home}>{texts.goHome}</Link>
      </Alone>
    ),
    defaultErrorComponent: () => (
      <p className="notice" data-tone="bad">
        {texts.broken}
      </p>
    ),
  });
}
