/** Efforts by name: where a budget in tokens stands among them, and which of those a model offers comes nearest to a wish. */
import { EFFORTS, type Effort } from '../hub/types.ts';

/** The steps that the providers' own tables of the two agree on. */
export const effortOfBudget = (tokens: number): Effort => (tokens < 4096 ? 'low' : tokens < 16_384 ? 'medium' : 'high');

/** The most that is not more than wanted, else the least there is. `none` is never chosen for someone who wants thinking. */
export function nearestEffort(wanted: Effort, offered: readonly string[]): Effort | undefined {
  const known = EFFORTS.filter((effort) => offered.includes(effort) && (effort !== 'none' || wanted === 'none'));
  const limit = EFFORTS.indexOf(wanted);
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= limit) ?? known[0];
}
