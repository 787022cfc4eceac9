/** Responses that several operations have, as components: most errors are the same everywhere. */

type Responses = Readonly<Record<string, object>>;

/**
 * `components` grows with the calls of `refer`, which puts references in the place of responses that others have too.
 */
export function shareResponses(all: readonly Responses[]) {
  const uses = Map.groupBy(
    all.flatMap((responses) => Object.entries(responses)),
    keyOf,
  );
  const names = new Map<string, string>();
  const components: Record<string, object> = {};
  const nameOf = (entry: ResponseEntry): string => {
    const [status, response] = entry;
    const number = Object.keys(components).filter((known) => known.startsWith(`Response${status}_`)).length + 1;
    const name = names.get(keyOf(entry)) ?? `Response${status}_${number}`;
    names.set(keyOf(entry), name);
    components[name] ??= response;
    return name;
  };
  const refer = (responses: Responses): Responses =>
    Object.fromEntries(
      Object.entries(responses).map((entry) =>
        (uses.get(keyOf(entry))?.length ?? 0) < 2
          ? entry
          : [entry[0], { $ref: `#/components/responses/${nameOf(entry)}` }],
      ),
    );
  return { components, refer };
}

type ResponseEntry = readonly [status: string, response: object];
const keyOf = ([status, response]: ResponseEntry): string => status + JSON.stringify(response);
