/** What a user can spend, what is held, and what is spent of the limits. */
import type { Me } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import { Money } from '../parts/values.tsx';
import { texts } from '../texts.ts';

export const Wallet = ({ me: { balance, limits } }: { readonly me: Me }) => (
  <div className="tiles">
    <div className="tile">
      <span className="label">{t('Available')}</span>
      <span className="value">
        <Money amount={balance.available} isRounded />
      </span>
    </div>
    <div className="tile">
      <span className="label">{t('Held for tasks')}</span>
      <span className="value">
        <Money amount={balance.held} isRounded />
      </span>
    </div>
    {(['day', 'month'] as const).map((period) => {
      const limit = limits[`spend_${period}`];
      return (
        limit !== undefined && (
          <div className="tile" key={period}>
            <span className="label">{period === 'day' ? t('Today (UTC)') : t('This month (UTC)')}</span>
            <span className="value">
              <Money amount={limits[`spent_${period}`] ?? '0'} isRounded />
            </span>
            <span className="muted small">
              {texts.user.of} <Money amount={limit} />
            </span>
          </div>
        )
      );
    })}
  </div>
);
