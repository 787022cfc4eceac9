/** The value of the fault word `wire`: which distortion of the response, with its number. */
import { BODY_FAULTS } from './body-faults.ts';
import { HTTP_FAULTS } from './http-faults.ts';

export interface WireFault {
  name: string;
  value?: number;
}

/** Reads `name` or `name:number`. Throws on an unknown name. */
export function readWireFault(text: string): WireFault {
  const [name = '', number] = text.split(':', 2);
  if (!Object.hasOwn(HTTP_FAULTS, name) && !Object.hasOwn(BODY_FAULTS, name)) {
    const known = [...Object.keys(HTTP_FAULTS), ...Object.keys(BODY_FAULTS)].join(', ');
    throw new RangeError(`unknown wire fault "${name}"; known: ${known}`);
  }
  if (number !== undefined && !/^\d{1,6}$/.test(number))
    throw new RangeError(`wire fault "${text}" has no valid number`);
  return { name, ...(number !== undefined && { value: Number(number) }) };
}
