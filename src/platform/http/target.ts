/** Targets of requests. */

const SLASH = 0x2f;
/**
 * Scheme and host of a target in absolute form (RFC 9112, section 3.2.2).
 * User information is not allowed: readers disagree on it.
 */
const ABSOLUTE_FORM = /^https?:\/\/[\w.~%!$&'()*+,;=:[\]-]+(?=[/?]|$)/i;

/** Path and query of a target. Clients send an absolute one when they take the server for a proxy. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const base = ABSOLUTE_FORM.exec(target)?.[0];
  if (base === undefined) return target;
  const rest = target.slice(base.length);
  return rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
}
