/** Erasure of a user: what goes is shown first, and the id is typed to confirm it. Afterwards: how far it is. */
import { useQuery } from '@tanstack/react-query';
import type { ShownErasure } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { countText } from '../format/count.ts';
import { t } from '../language.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';
import { Facts, Load } from '../parts/page.tsx';
import { Money, Time } from '../parts/values.tsx';
import { operatorTexts } from './texts.ts';

interface EraseProps {
  readonly user: string;
}

export const EraseUser = ({ user, isErased }: EraseProps & { readonly isErased: boolean }) => (
  <Opener label={isErased ? 'Erasure' : 'Erase user'} className={isErased ? '' : 'danger'}>
    {(close) => <Erasure user={user} close={close} />}
  </Opener>
);

const Erasure = ({ user, close }: EraseProps & { readonly close: () => void }) => {
  const erasure = useQuery({ queryKey: ['erasures', user], queryFn: () => admin.erasure(user) });
  const state = erasure.data?.state ?? 'preview';
  return (
    <Dialog
      title={`${state === 'preview' ? t('Erase user') : t('Erasure')} ${user}`}
      lead={operatorTexts.erase.lead[state]}
      onClose={close}
      isRead={state !== 'preview'}
    >
      <Load query={erasure} things={operatorTexts.erase.things} lines={6}>
        {(shown) => (
          <>
            <Counts erasure={shown} />
            {state === 'preview' && (
              <Form
                fields={[
                  {
                    name: 'confirm',
                    label: 'Id of the user',
                    hint: operatorTexts.erase.confirm(user),
                    isRequired: true,
                  },
                ]}
                action="Erase user"
                isDanger
                submit={(values) => admin.eraseUser(user, { ...values, dry_run: false })}
                refreshes={['erasures', 'users', 'keys', 'people', 'balances']}
                done={operatorTexts.erase.begun}
                cancel={close}
              >
                <a className="button" href={admin.exportUser(user)} download>
                  {t('Export data')}
                </a>
              </Form>
            )}
          </>
        )}
      </Load>
    </Dialog>
  );
};

const Counts = ({ erasure }: { readonly erasure: ShownErasure }) => {
  const waits = listOf(erasure.waits_for);
  return (
    <Facts
      rows={[
        [erasure.state === 'preview' ? 'Will be erased' : 'Erased', listOf(erasure.erases) || t('Nothing')],
        erasure.state === 'finished' || waits === '' ? undefined : ['Waits for', waits],
        ['Balance that stays', <Money key="balance" amount={erasure.balance.available} />],
        erasure.left_at_providers === 0 ? undefined : ['Left at providers', countText(erasure.left_at_providers)],
        erasure.requested_at === null ? undefined : ['Began', <Time key="began" at={erasure.requested_at} />],
        erasure.finished_at === null ? undefined : ['Finished', <Time key="finished" at={erasure.finished_at} />],
      ]}
    />
  );
};

const listOf = (counts: ShownErasure['erases']): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${operatorTexts.erase.kinds[kind] ?? kind}: ${countText(count)}`)
    .join(' · ');
