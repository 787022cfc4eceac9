/** Draws and encodes pictures with sharp, a development dependency that is loaded at the first picture. */
import type { Sharp } from 'sharp';
import type { Picture } from './picture.ts';

export type Encode = (picture: Picture) => Promise<Buffer>;

let loading: Promise<Encode | undefined> | undefined;

/** Undefined where sharp is not installed, as in a production installation. */
export function loadEncoder(): Promise<Encode | undefined> {
  loading ??= import('sharp').then(
    ({ default: sharp }) => encoderWith(sharp),
    () => undefined,
  );
  return loading;
}

function encoderWith(sharp: typeof import('sharp').default): Encode {
  return async (picture) => {
    const drawing = sharp(Buffer.from(svgOf(picture)));
    const drawn = picture.partial === undefined ? drawing : await enlarge(drawing, picture);
    return encoded(picture.isTransparent ? drawn : drawn.removeAlpha(), picture).toBuffer();
  };

  /** Enlarges pixels. Resizing the drawing itself would draw it again, as sharp as before. */
  async function enlarge(drawing: Sharp, { width, height }: Picture): Promise<Sharp> {
    const { data, info } = await drawing.raw().toBuffer({ resolveWithObject: true });
    return sharp(data, { raw: info }).resize(width, height, { fit: 'fill', kernel: 'linear' });
  }
}

function encoded(drawn: Sharp, { format, compression }: Picture): Sharp {
  // The encoders accept qualities from 1, the API from 0. Little effort keeps 4K pictures below half a second.
  const quality = Math.max(1, compression);
  if (format === 'jpeg') return drawn.jpeg({ quality });
  return format === 'webp' ? drawn.webp({ quality, effort: 0 }) : drawn.png({ compressionLevel: 3 });
}

/** A partial image is drawn small and enlarged, which blurs it. */
const PARTIAL_SCALES = [1 / 16, 1 / 8, 1 / 4];

function svgOf(picture: Picture): string {
  const { width, height, partial, index } = picture;
  const scale = partial === undefined ? 1 : (PARTIAL_SCALES[partial] ?? 1 / 4);
  const [drawnWidth, drawnHeight] = [width, height].map((edge) => Math.max(1, Math.round(edge * scale)));
  const hue = (210 + index * 67) % 360;
  const shape = picture.isTransparent
    ? '<ellipse cx="50%" cy="50%" rx="45%" ry="45%" fill="url(#fill)"/>'
    : '<rect width="100%" height="100%" fill="url(#fill)"/>';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${drawnWidth}" height="${drawnHeight}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">
<linearGradient id="fill" x1="0" y1="0" x2="1" y2="1">
<stop offset="0" stop-color="hsl(${hue},50%,25%)"/><stop offset="1" stop-color="hsl(${hue + 40},60%,60%)"/>
</linearGradient>${shape}
<g font-family="sans-serif" font-size="${Math.min(width / 12, height / 6)}" fill="#fff" text-anchor="middle">${texts(picture)}</g>
</svg>`;
}

function texts({ width, height, quality, index, partial }: Picture): string {
  const number = partial === undefined ? `image ${index + 1}` : `image ${index + 1}, partial ${partial + 1}`;
  return ['SIMULATED', `${width}x${height}, ${quality}`, number]
    .map((line, row) => `<text x="50%" y="${36 + row * 18}%">${line}</text>`)
    .join('');
}
