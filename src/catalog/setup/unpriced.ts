/**
 * Models of provider groups that are neither priced nor free, and those that give their replies away by a missing rate.
 */
import { allRows, type Db } from '../../platform/db/index.ts';
import { isEmbeddingModel } from '../../rules/index.ts';
import { lacksOutput, REPLY_RATES } from '../../schemas/index.ts';

export const UNPRICED_ADVICE =
  'Requests get model_not_priced: set prices, run "dragoman prices import", or set free: true to give it away.';

export const NO_OUTPUT_ADVICE =
  'Its replies are free although it is not: set the price of output; "0" if it writes nothing, or is meant to give it away.';

const MAX_LISTED = 100;

export const findUnpriced = async (db: Db): Promise<string[]> =>
  (await readPriced(db)).filter(({ rates }) => Object.keys(rates).length === 0).map(nameOf);

/** Models whose price lacks a rate for what they make. Prices from before the rate was required have this fault. */
export const findWithoutOutput = async (db: Db): Promise<string[]> =>
  (await readPriced(db)).filter(({ rates, pattern }) => lacksOutput(rates) && !isEmbeddingModel(pattern)).map(nameOf);

interface PricedModel {
  readonly pattern: string;
  readonly group_id: string;
  readonly rates: object;
}

const nameOf = ({ pattern, group_id }: PricedModel): string => `${pattern} of ${group_id}`;

/** In the order of the configuration, and only those with a fault. Announced prices do not count yet. */
const readPriced = (db: Db): Promise<PricedModel[]> =>
  allRows(db)<PricedModel>`
    select * from (
      select m.pattern, m.group_id, g.position, g.id, m.position as line, m.id as model, coalesce((
        select p.rates from prices p where p.model_id = m.id and p.valid_from <= now()
        order by p.valid_from desc, p.id desc limit 1), '{}') as rates
      from models m join groups g on g.id = m.group_id where g.style <> 'video' and not m.free) own
    where not rates ?| ${REPLY_RATES}::text[]
    order by position, id, line, model limit ${MAX_LISTED}`;
