/** Signing in by e-mail and password, or by the identity provider of the operator. */
import { useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { session } from '../api/user.ts';
import { type FieldSpec, Form } from '../parts/form.tsx';
import type { Search } from '../search.ts';
import { texts } from '../texts.ts';
import { Alone } from './alone.tsx';
import { enterSession } from './session.ts';

export const SIGN_IN_FIELDS = (email?: string): readonly FieldSpec[] => [
  { name: 'email', label: 'E-mail', kind: 'email', isRequired: true, autoComplete: 'username', value: email },
  { name: 'password', label: 'Password', kind: 'password', isRequired: true, autoComplete: 'current-password' },
];

interface SignInProps {
  readonly hasOidc: boolean;
  readonly isFirstRun: boolean;
}

export const SignIn = ({ hasOidc, isFirstRun }: SignInProps) => {
  const client = useQueryClient();
  const { error } = useSearch({ strict: false }) as Search;
  return (
    <Alone title={texts.signIn.title}>
      {error !== undefined && (
        <p className="notice" data-tone="bad">
          {texts.signIn.errors[error] ?? error}
        </p>
      )}
      {isFirstRun && <p className="notice">{texts.signIn.firstRun}</p>}
      <Form
        fields={SIGN_IN_FIELDS()}
        action={texts.signIn.action}
        submit={async (values) => enterSession(client, await session.open(values))}
      />
      {hasOidc && (
        <a className="button" href={session.oidcStart}>
          {texts.signIn.oidc}
        </a>
      )}
    </Alone>
  );
};
