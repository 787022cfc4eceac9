/** The pages of the reference: one for each tag of openapi.json, and one that lists all operations. */
import { type Document, type Endpoint, endpointsOf, type Parameter, responseOf, sampleOf } from './document.ts';
import { escapeText, inline, paragraphs, SchemaHtml, slug } from './html.ts';

const JSON_TYPE = 'application/json';

/** File name -> HTML. */
export function renderPages(document: Document): ReadonlyMap<string, string> {
  const endpoints = endpointsOf(document);
  const pages = new Map([['index.html', overview(document, endpoints)]]);
  for (const { name } of document.tags)
    pages.set(
      `${slug(name)}.html`,
      tagPage(
        document,
        name,
        endpoints.filter(({ tags }) => tags[0] === name),
      ),
    );
  return pages;
}

function frame(
  document: Document,
  title: string,
  tag: string | undefined,
  own: readonly Endpoint[],
  body: string,
): string {
  const groups = document['x-tagGroups'].map(
    ({ name, tags }) =>
      `<h2>${escapeText(name)}</h2><ul>${tags
        .map((one) => {
          const links =
            one === tag ? `<ul>${own.map((endpoint) => `<li>${linkTo(endpoint, '')}</li>`).join('')}</ul>` : '';
          return `<li><a href="/docs/${slug(one)}.html"${one === tag ? ' aria-current="page"' : ''}>${escapeText(one)}</a>${links}</li>`;
        })
        .join('')}</ul>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)} · Dragoman API</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/tokens.css">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/page.js"></script>
</head>
<body>
<nav aria-label="Reference"><a class="brand" href="/docs"><img src="/docs/icon.svg" alt="" width="22" height="22">Dragoman API</a>${groups.join('')}
<p><a href="/openapi.json">openapi.json</a> · <a href="/console/">Console</a></p></nav>
<main>${body}</main>
</body>
</html>
`;
}

const linkTo = ({ method, operationId, summary, tags }: Endpoint, page = `/docs/${slug(tags[0] ?? '')}.html`): string =>
  `<a href="${page}#${slug(operationId)}"><b data-method="${method}">${method}</b><span>${inline(summary)}</span></a>`;

function overview(document: Document, endpoints: readonly Endpoint[]): string {
  const { title, version, description } = document.info;
  const sections = document.tags.map(
    ({ name, description: about }) =>
      `<section><h2><a href="/docs/${slug(name)}.html">${escapeText(name)}</a></h2><p>${inline(about)}</p><ul class="list">${endpoints
        .filter(({ tags }) => tags[0] === name)
        .map((endpoint) => `<li>${linkTo(endpoint)}<code>${escapeText(endpoint.path)}</code></li>`)
        .join('')}</ul></section>`,
  );
  const body = `<h1>${escapeText(title)} API <small>${escapeText(version)}</small></h1>${paragraphs(description)}
<p><input id="find" type="search" placeholder="Find an operation or a path" aria-label="Find an operation or a path" autocomplete="off"></p>${sections.join('')}`;
  return frame(document, 'Reference', undefined, [], body);
}

function tagPage(document: Document, tag: string, endpoints: readonly Endpoint[]): string {
  const schemas = new SchemaHtml(document);
  const about = document.tags.find(({ name }) => name === tag)?.description ?? '';
  const operations = endpoints.map((endpoint) => operationHtml(document, schemas, endpoint)).join('');
  // An object may name others, which are added behind it.
  const objects: string[] = [];
  for (const name of schemas.named) {
    const schema = document.components.schemas[name] ?? {};
    objects.push(
      `<details class="object" id="o-${slug(name)}"><summary>${escapeText(name)}</summary>${schema.description ? `<p>${inline(schema.description)}</p>` : ''}${schemas.fields(schema)}</details>`,
    );
  }
  const body = `<h1>${escapeText(tag)}</h1><p>${inline(about)}</p>${operations}${
    objects.length > 0 ? `<h2>Objects</h2>${objects.join('')}` : ''
  }`;
  return frame(document, tag, tag, endpoints, body);
}

function operationHtml(document: Document, schemas: SchemaHtml, endpoint: Endpoint): string {
  const { method, path, operationId, summary, description, deprecated, requestBody } = endpoint;
  const groups = Object.entries(endpoint['x-groups'] ?? {});
  const content = requestBody?.content[JSON_TYPE];
  const types = Object.keys(requestBody?.content ?? {});
  return `<article id="${slug(operationId)}">
<h2><a href="#${slug(operationId)}">${inline(summary)}</a>${deprecated ? ' <small>deprecated</small>' : ''}</h2>
<p class="path"><b data-method="${method}">${method}</b> <code>${escapeText(path)}</code></p>
${description ? paragraphs(description) : ''}${
  groups.length > 0
    ? `<p class="note">Groups: ${groups.map(([group, how]) => `${escapeText(group)} ${escapeText(how)}`).join(' · ')}</p>`
    : ''
}${parametersHtml(schemas, endpoint.parameters ?? [])}${
  requestBody
    ? `<h3>Body${types[0] === JSON_TYPE ? '' : ` <small>${escapeText(types.join(', '))}</small>`}</h3>${requestBody.description ? paragraphs(requestBody.description) : ''}${
        content?.schema ? schemas.fields(content.schema) : ''
      }`
    : ''
}${responsesHtml(document, schemas, endpoint)}${tryHtml(document, endpoint)}</article>`;
}

const parametersHtml = (schemas: SchemaHtml, parameters: readonly Parameter[]): string =>
  parameters.length === 0
    ? ''
    : `<h3>Parameters</h3><dl class="fields">${parameters
        .map(
          ({ name, in: place, required, description = '', schema = {} }) =>
            `<dt><code>${escapeText(name)}</code> <span>${place}, ${schemas.type(schema)}</span>${required ? ' <b>required</b>' : ''}</dt><dd>${inline(description)}</dd>`,
        )
        .join('')}</dl>`;

function responsesHtml(document: Document, schemas: SchemaHtml, { responses }: Endpoint): string {
  const lines = Object.entries(responses).map(([status, given]) => {
    const { description = '', content = {} } = responseOf(document, given);
    const { schema } = content[JSON_TYPE] ?? {};
    const isError = status >= '400';
    const codes = isError ? description.split(', ').map((code) => `<code>${escapeText(code)}</code>`) : [];
    const body = isError || !schema ? '' : schema.$ref ? ` → ${schemas.type(schema)}` : schemas.fields(schema);
    return `<dt data-bad="${isError}">${escapeText(status)}</dt><dd>${/^[a-z_]+(?:, [a-z_]+)*$/.test(description) && isError ? codes.join(' ') : inline(description)}${body}</dd>`;
  });
  return `<h3>Responses</h3><dl class="responses">${lines.join('')}</dl>`;
}

/** What a browser cannot send is not offered: other bodies than JSON, and WebSockets. */
function tryHtml(document: Document, { method, path, parameters = [], requestBody, security }: Endpoint): string {
  const content = requestBody?.content[JSON_TYPE];
  if ((requestBody && !content) || /WebSocket/.test(JSON.stringify(parameters))) return '';
  const example = content && (content.example ?? sampleOf(document, content.schema ?? {}));
  const facts = {
    method,
    path,
    params: parameters
      .filter(({ in: place }) => place !== 'header')
      .map(({ name, in: place, required }) => ({ name, place, required })),
    body: example === undefined ? undefined : JSON.stringify(example, undefined, 2),
    secret: security?.some((one) => 'adminToken' in one)
      ? 'admin token'
      : security?.length === 0
        ? undefined
        : 'API key',
  };
  return `<details class="try" data-request="${escapeText(JSON.stringify(facts))}"><summary>Try it</summary></details>`;
}
