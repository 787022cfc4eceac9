/** The session of the signed-in person: one query that every page shares. */
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { ShownSession } from '../../../src/schemas/index.ts';
import { keepCsrf, Problem } from '../api/client.ts';
import { session } from '../api/user.ts';

export const SESSION_KEY = 'session';

/** Signed out is a state of the session, not a failure to load it. */
export type SessionState =
  | { readonly isSignedIn: true; readonly session: ShownSession }
  | { readonly isSignedIn: false; readonly hasOidc: boolean; readonly isFirstRun: boolean };

export const sessionQuery = queryOptions({
  queryKey: [SESSION_KEY],
  queryFn: async (): Promise<SessionState> => {
    try {
      return signedIn(await session.read());
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return signedOut(error.body);
      throw error;
    }
  },
  staleTime: Number.POSITIVE_INFINITY,
});

const signedIn = (current: ShownSession): SessionState => {
  keepCsrf(current.csrf);
  return { isSignedIn: true, session: current };
};

function signedOut(body: unknown): SessionState {
  const { oidc, first_run } = (body ?? {}) as { readonly oidc?: boolean; readonly first_run?: boolean };
  return { isSignedIn: false, hasOidc: oidc === true, isFirstRun: first_run === true };
}

export function enterSession(client: QueryClient, current: ShownSession): void {
  client.setQueryData(sessionQuery.queryKey, signedIn(current));
  forgetData(client);
}

/** The same person as before: pages keep what they show and read it again. */
export function resumeSession(client: QueryClient, current: ShownSession): void {
  client.setQueryData(sessionQuery.queryKey, signedIn(current));
  void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY });
}

/** Reads the session again; signed out, the layout shows the sign-in page. */
export function forgetSession(client: QueryClient): void {
  keepCsrf(undefined);
  void client.invalidateQueries({ queryKey: [SESSION_KEY] });
}

export async function leaveSession(client: QueryClient): Promise<void> {
  await session.close();
  forgetSession(client);
  forgetData(client);
}

/** What another person has read is not shown to the next one. */
const forgetData = (client: QueryClient): void =>
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY });
