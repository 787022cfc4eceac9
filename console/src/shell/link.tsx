/**
 * Redeems a one-time link: the first administrator, an invitation, a new password. The token is in the fragment, which
 * no server logs.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ShownLink } from '../../../src/schemas/index.ts';
import { session } from '../api/user.ts';
import { type FieldSpec, Form } from '../parts/form.tsx';
import { Load } from '../parts/page.tsx';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { Alone } from './alone.tsx';
import { enterSession } from './session.ts';

export const LinkPage = () => {
  const [token] = useState(() => decodeURIComponent(location.hash.slice(1)));
  return (
    <Alone title={texts.link.title}>
      {token === '' ? (
        <p className="notice" data-tone="bad">
          {texts.link.missing}
        </p>
      ) : (
        <Redeem token={token} />
      )}
    </Alone>
  );
};

const Redeem = ({ token }: { readonly token: string }) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const link = useQuery({ queryKey: ['link', token], queryFn: () => session.readLink(token), staleTime: 60_000 });
  return (
    <Load query={link} things={texts.link.things} lines={4}>
      {(purpose) => (
        <>
          <p className="muted">{texts.link.lead[purpose.purpose]}</p>
          <Form
            fields={[...namesOf(purpose), PASSWORD]}
            action={texts.link.action}
            submit={async (values) => {
              enterSession(client, await session.redeem({ token, ...values }));
              await navigate({ to: paths.home, replace: true });
            }}
          />
        </>
      )}
    </Load>
  );
};

/** Only the first administrator chooses an e-mail address; others were invited with theirs. */
const namesOf = ({ purpose, name, email }: ShownLink): FieldSpec[] =>
  purpose === 'first'
    ? [
        { name: 'name', label: 'Name', isRequired: true, autoComplete: 'name' },
        { name: 'email', label: 'E-mail', kind: 'email', isRequired: true, autoComplete: 'username' },
      ]
    : [
        { name: 'email', label: 'E-mail', kind: 'email', value: email, isReadOnly: true, autoComplete: 'username' },
        ...(purpose === 'invite' ? [{ name: 'name', label: 'Name', value: name, autoComplete: 'name' }] : []),
      ];

const PASSWORD: FieldSpec = {
  name: 'password',
  label: 'Password',
  kind: 'password',
  isRequired: true,
  autoComplete: 'new-password',
  hint: texts.link.passwordHint,
};
