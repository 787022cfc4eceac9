/** The entry: theme, cache, session and router. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isLostSession, onLostSession, Problem } from './api/client.ts';
import { Toasts } from './parts/toast.tsx';
import { createConsoleRouter } from './router.tsx';
import { SESSION_KEY } from './shell/session.ts';
import { askToSignIn, SignInAgain } from './shell/sign-in-again.tsx';
import { applyTheme } from './shell/theme.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';

applyTheme();

const FRESH_MS = 2_000;
const client = new QueryClient({
  defaultOptions: {
    // A form says at once that the gateway is out of reach.
    mutations: { networkMode: 'always' },
    queries: {
      staleTime: FRESH_MS,
      // The gateway says what is wrong with a request; only a lost connection and an overload are worth a second try.
      retry: (count, error) => count < 2 && error instanceof Problem && (error.status === 0 || error.status === 503),
    },
  },
});
client.getQueryCache().subscribe(({ query }) => {
  const { error } = query.state;
  if (isLostSession(error) && query.queryKey[0] !== SESSION_KEY) void askToSignIn();
});
onLostSession(askToSignIn);

const router = createConsoleRouter(client);
const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <SignInAgain />
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  );
