/**
 * Signing in again over the page, when the session is lost: what was typed stays, and the request that found out is
 * sent again.
 */
import { focusManager, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { ShownSession } from '../../../src/schemas/index.ts';
import { session } from '../api/user.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { enterSession, forgetSession, resumeSession, sessionQuery } from './session.ts';
import { SIGN_IN_FIELDS } from './sign-in.tsx';

interface Question {
  readonly answer: Promise<boolean>;
  readonly end: (isSignedIn: boolean) => void;
}

let question: Question | undefined;
const listeners = new Set<() => void>();

function setQuestion(next: Question | undefined): void {
  question = next;
  // Pages do not poll without a session: each request would count as a failed attempt.
  focusManager.setFocused(next ? false : undefined);
  for (const listener of listeners) listener();
}

/** One dialog, however many requests found the session lost. */
export function askToSignIn(): Promise<boolean> {
  if (!question) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (isSignedIn: boolean): void => {
      setQuestion(undefined);
      resolve(isSignedIn);
    };
    setQuestion({ answer: promise, end });
  }
  return question?.answer ?? Promise.resolve(false);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const SignInAgain = () => {
  const client = useQueryClient();
  const open = useSyncExternalStore(subscribe, () => question);
  if (!open) return null;
  const before = client.getQueryData(sessionQuery.queryKey);
  const last = before?.isSignedIn ? before.session : undefined;
  const enter = (current: ShownSession): void => {
    const isSame = current.person.id === last?.person.id;
    if (isSame) resumeSession(client, current);
    // What another person typed is not sent in the name of this one.
    else enterSession(client, current);
    open.end(isSame);
  };
  const leave = (): void => {
    forgetSession(client);
    open.end(false);
  };
  return (
    <Dialog title={texts.signIn.again} lead={texts.signIn.againLead} onClose={leave}>
      {last?.oidc && (
        <p className="row">
          <a href={session.oidcStart} target="_blank" rel="noreferrer">
            {texts.signIn.oidcTab}
          </a>
          <button type="button" onClick={() => void session.read().then(enter, () => undefined)}>
            {texts.signIn.continue}
          </button>
        </p>
      )}
      <Form
        fields={SIGN_IN_FIELDS(last?.person.email)}
        action={texts.signIn.action}
        cancel={leave}
        submit={async (values) => enter(await session.open(values))}
      />
    </Dialog>
  );
};
