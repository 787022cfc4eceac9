/** The query of a native call, by the table in rules/native-queries.ts. Every other parameter keeps its bytes. */
import { failAt } from '../../core/index.ts';
import { nativeQueryRule } from '../../rules/index.ts';

/** The query for the provider with its question mark; empty when nothing is left. Names are compared decoded: `k%65y` is `key`. */
export function forwardedQuery(query: string, isGenerate: boolean): string {
  if (query === '') return '';
  const kept = query.split('&').filter((pair) => isForwarded(pair, isGenerate));
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

function isForwarded(pair: string, isGenerate: boolean): boolean {
  const [[name, value] = ['', '']] = new URLSearchParams(pair);
  const rule = nativeQueryRule(name, isGenerate);
  if (rule === undefined) return true;
  if (rule === 'remove') return false;
  if (rule !== 'refuse' && rule.includes(value)) return true;
  const advice = rule === 'refuse' ? 'omit it' : `use ${rule.join(' or ')}, or omit it`;
  const param = name.slice(0, 40);
  throw failAt('unsupported_parameter', param, `this query parameter changes the form of the response; ${advice}.`);
}
