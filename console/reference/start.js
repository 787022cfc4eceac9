/** Shows /openapi.json on the page /docs. Fonts are those of the system: the page loads nothing from other servers. */
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

window.Redoc.init(
  '/openapi.json',
  {
    hideHostname: true,
    jsonSampleExpandLevel: 3,
    nativeScrollbars: true,
    pathInMiddlePanel: true,
    requiredPropsFirst: true,
    sortRequiredPropsFirst: true,
    theme: {
      typography: {
        fontFamily: SANS,
        fontSize: '15px',
        headings: { fontFamily: SANS },
        code: { fontFamily: MONO, fontSize: '13px', wrap: true },
      },
      colors: { primary: { main: '#1d4f91' } },
      sidebar: { width: '280px' },
      rightPanel: { backgroundColor: '#1c2430' },
    },
  },
  document.getElementById('reference'),
);
