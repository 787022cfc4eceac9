/** Light or dark: as the system says, until the reader chooses. */
const STORED = 'dragoman-theme';
type Theme = 'light' | 'dark';

const dark = matchMedia('(prefers-color-scheme: dark)');

function storedTheme(): Theme | undefined {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : undefined;
}

const show = (): void => {
  document.documentElement.dataset.theme = storedTheme() ?? (dark.matches ? 'dark' : 'light');
};

export function applyTheme(): void {
  show();
  dark.addEventListener('change', show);
}

export function switchTheme(): void {
  const next: Theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem(STORED, next);
  show();
}
