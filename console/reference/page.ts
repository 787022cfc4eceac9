/**
 * The pages of /docs: one for each tag of openapi.json with its examples, the guides, the errors, the limits, and one
 * that leads to all.
 */
import {
  type Document,
  type Endpoint,
  endpointsOf,
  type Parameter,
  responseOf,
  type Schema,
  sampleOf,
} from './document.ts';
import { errorsHtml } from './errors.ts';
import { examplesHtml, hasExample } from './examples.ts';
import { type Guide, guideLinks, renderGuides } from './guides.ts';
import { escapeText, inline, paragraphs, SchemaHtml, slug } from './html.ts';
import { limitsHtml } from './limits.ts';
import { searchEntries } from './search.ts';

const JSON_TYPE = 'application/json';

/** File name -> content. `read` returns the text of a page in docs/. */
export function renderPages(document: Document, read: (page: string) => string): ReadonlyMap<string, string> {
  const endpoints = endpointsOf(document);
  const guides = renderGuides(read);
  const pages = new Map<string, string>();
  const add = (file: string, title: string, body: string, links = ''): void =>
    void pages.set(file, frame({ document, title, file, links }, body));
  add('index.html', 'Reference', overview(document, endpoints));
  for (const { name } of document.tags) {
    const own = endpoints.filter(({ tags }) => tags[0] === name);
    const links = `<ul>${own.map((endpoint) => `<li>${linkTo(endpoint, '')}</li>`).join('')}</ul>`;
    add(`${slug(name)}.html`, name, tagPage(document, name, own), links);
    const shown = own.filter(hasExample);
    if (shown.length > 0) add(examplesFile(name), `${name}: examples`, examplesHtml(document, name, shown));
  }
  add('errors.html', 'Errors', errorsHtml(document, endpoints.filter(hasExample)));
  add('limits.html', 'Limits', limitsHtml());
  for (const guide of guides)
    add(guide.file, guide.title, `<div class="guide">${guide.html}</div>`, guidesNav(guides, guide));
  pages.set('search.json', JSON.stringify(searchEntries(endpoints, guides)));
  return pages;
}

const guidesNav = (guides: readonly Guide[], { file }: Guide): string => guideLinks(guides, file);

const examplesFile = (tag: string): string => `examples/${slug(tag)}.html`;

/** Beside the operations. */
const CALLER_PAGES = [
  ['guides.html', 'Guides'],
  ['errors.html', 'Errors'],
  ['limits.html', 'Limits'],
] as const;

interface Frame {
  readonly document: Document;
  readonly title: string;
  readonly file: string;
  /** Below the link to the page in the navigation. */
  readonly links: string;
}

function frame({ document, title, file, links }: Frame, body: string): string {
  const item = (target: string, label: string): string => {
    const isHere = target === file || (target === 'guides.html' && file.startsWith('guides/'));
    return `<li><a href="/docs/${target}"${isHere ? ' aria-current="page"' : ''}>${escapeText(label)}</a>${isHere ? links : ''}</li>`;
  };
  const groups = [
    `<ul>${CALLER_PAGES.map(([target, label]) => item(target, label)).join('')}</ul>`,
    ...document['x-tagGroups'].map(
      ({ name, tags }) =>
        `<h2>${escapeText(name)}</h2><ul>${tags.map((one) => item(`${slug(one)}.html`, one)).join('')}</ul>`,
    ),
  ];
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
<nav aria-label="Reference"><a class="brand" href="/docs"><img src="/docs/icon.svg" alt="" width="22" height="22">Dragoman API</a>
<input id="find" type="search" placeholder="Search" aria-label="Search operations, errors, limits and guides" autocomplete="off"><ul id="found" aria-live="polite"></ul>
<div>${groups.join('')}
<p><a href="/openapi.json">openapi.json</a> · <a href="/console/">Console</a></p></div></nav>
<main>${body}</main>
</body>
</html>
`;
}

const linkTo = ({ method, operationId, summary, tags }: Endpoint, page = `/docs/${slug(tags[0] ?? '')}.html`): string =>
  `<a href="${page}#${slug(operationId)}"><b data-method="${method}">${method}</b><span>${inline(summary)}</span></a>`;

/** Pages of operators list their operations themselves: the first page is that of callers. */
const FOR_OPERATORS: readonly string[] = ['Admin', 'Console'];

function overview(document: Document, endpoints: readonly Endpoint[]): string {
  const { title, version, description } = document.info;
  const sections = document.tags.map(({ name, description: about }) => {
    const own = endpoints.filter(({ tags }) => tags[0] === name);
    const list = FOR_OPERATORS.includes(name)
      ? ''
      : `<ul class="list">${own
          .map((endpoint) => `<li>${linkTo(endpoint)}<code>${escapeText(endpoint.path)}</code></li>`)
          .join('')}</ul>`;
    return `<section><h2><a href="/docs/${slug(name)}.html">${escapeText(name)}</a></h2><p>${inline(about)}</p>${list}</section>`;
  });
  return `<h1>${escapeText(title)} API <small>${escapeText(version)}</small></h1>${paragraphs(description)}
<p>Begin with a <a href="/docs/guides.html">guide</a> for your client, or with an <a href="/docs/${examplesFile('Responses')}">example</a>. <a href="/docs/errors.html">Errors</a> says what to do about each code, <a href="/docs/limits.html">limits</a> what a request may have.</p>${sections.join('')}`;
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
  return body;
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
}${responsesHtml(document, schemas, endpoint)}${exampleLink(endpoint)}${tryHtml(document, endpoint)}</article>`;
}

/** The script shows them here. */
const exampleLink = (endpoint: Endpoint): string =>
  hasExample(endpoint)
    ? `<p><a class="example" href="/docs/${examplesFile(endpoint.tags[0] ?? '')}#${slug(endpoint.operationId)}">Example in curl, Python and JavaScript</a></p>`
    : '';

const parametersHtml = (schemas: SchemaHtml, parameters: readonly Parameter[]): string =>
  parameters.length === 0
    ? ''
    : `<h3>Parameters</h3><dl class="fields">${parameters
        .map(
          ({ name, in: place, required, description = '', schema = {} }) =>
            `<dt><code>${escapeText(name)}</code> <span>${place}, ${schemas.type(schema)}</span>${required ? ' <b>required</b>' : ''}</dt><dd>${inline(description)}</dd>`,
        )
        .join('')}</dl>`;

const bodyHtml = (schemas: SchemaHtml, schema: Schema): string =>
  schema.$ref ? ` → ${schemas.type(schema)}` : schemas.fields(schema);

function responsesHtml(document: Document, schemas: SchemaHtml, { responses }: Endpoint): string {
  const lines = Object.entries(responses).map(([status, given]) => {
    const { description = '', content = {} } = responseOf(document, given);
    const { schema } = content[JSON_TYPE] ?? {};
    const isError = status >= '400';
    const codes = isError ? description.split(', ').map((code) => `<code>${escapeText(code)}</code>`) : [];
    const body = isError || !schema ? '' : bodyHtml(schemas, schema);
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
