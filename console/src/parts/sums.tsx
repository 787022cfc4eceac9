/** The arithmetic of a charge as the server computed it: of a call that was made, or of one that would be. */
import type { CallPrice, PriceLine } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { exactMoney } from '../format/money.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Money } from './values.tsx';

interface SumsProps {
  readonly pricing: CallPrice;
  readonly isOperator: boolean;
  readonly isEstimated?: boolean | null;
  /** The word before the amount. */
  readonly verb?: string;
}

export const Sums = ({ pricing: { charge, cost }, isOperator, isEstimated = null, verb = t('charged') }: SumsProps) =>
  charge && (
    <div className="stack">
      <table className="sums">
        <caption>{texts.money.arithmetic}</caption>
        <tbody>
          {charge.lines.map((line) => (
            <SumLine key={line.part} line={line} />
          ))}
          <tr className="total">
            <td colSpan={3}>{t('subtotal')}</td>
            <td className="num">{exactMoney(charge.subtotal)}</td>
          </tr>
          <tr>
            <td colSpan={3}>{texts.money.multipliers(charge.group_multiplier, charge.user_multiplier)}</td>
            <td className="num" />
          </tr>
          <tr className="total">
            <td colSpan={3}>
              {verb}
              {charge.price === null ? '' : ` (${texts.money.price(charge)})`}
            </td>
            <td className="num">
              <Money amount={charge.charge} isEstimated={isEstimated} />
            </td>
          </tr>
        </tbody>
      </table>
      {isOperator && (
        <p className="muted">
          {cost === null ? (
            texts.money.costUnknown
          ) : (
            <>
              {t('Provider cost')}
              {cost.multiplier === null ? '' : ` × ${cost.multiplier}`} <Money amount={cost.cost} /> · {t('margin')}{' '}
              <Money amount={cost.margin} />
              {cost.margin_percent !== null && ` ${cost.margin_percent}%`}
            </>
          )}
        </p>
      )}
    </div>
  );

const UNITS: Record<PriceLine['per'], string> = { million_tokens: '/1M', piece: t('each'), hour: t('/hour') };

const SumLine = ({ line }: { readonly line: PriceLine }) => (
  <tr>
    <td className="num">{countText(line.count)}</td>
    <td>{t(line.part.replaceAll('_', ' '))}</td>
    <td className="muted nowrap">
      × {exactMoney(line.rate)} {UNITS[line.per]}
    </td>
    <td className="num">{exactMoney(line.amount)}</td>
  </tr>
);
