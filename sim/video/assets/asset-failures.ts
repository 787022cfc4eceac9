/** Why an asset fails after its processing: the codes of the provider. */

/** Messages by code. A test may use other codes as well. */
export const ASSET_FAILURES: Readonly<Record<string, string>> = {
  DownloadFailed: 'The file could not be downloaded from its URL.',
  TypeMismatch: 'The file is not of the given asset type.',
  FormatUnsupported: 'The format of the file is not supported.',
  FormatUndetectable: 'The format of the file cannot be detected.',
  DurationTooShort: 'The file is too short.',
  DurationTooLong: 'The file is too long.',
  WidthTooSmall: 'The width is too small.',
  WidthTooLarge: 'The width is too large.',
  HeightTooSmall: 'The height is too small.',
  HeightTooLarge: 'The height is too large.',
  AspectRatioTooSmall: 'The aspect ratio is too small.',
  AspectRatioTooLarge: 'The aspect ratio is too large.',
  FileSizeTooLarge: 'The file is too large.',
  PixelCountTooSmall: 'The file has too few pixels.',
  PixelCountTooLarge: 'The file has too many pixels.',
  FpsTooLow: 'The frame rate is too low.',
  FpsTooHigh: 'The frame rate is too high.',
  AudioTrackRequired: 'The file needs an audio track.',
  AudioTrackForbidden: 'The file must not have an audio track.',
  TranscodingFailed: 'The file could not be transcoded.',
  ContentRestricted: 'The content of the file is restricted.',
  InputTextSensitiveContentDetected: 'The text may contain sensitive information.',
  InputImageSensitiveContentDetected: 'The image may contain sensitive information.',
  InputVideoSensitiveContentDetected: 'The video may contain sensitive information.',
  InputAudioSensitiveContentDetected: 'The audio may contain sensitive information.',
  FaceMismatch: 'The face does not match the validated person.',
};

export const assetFailureMessage = (code: string): string =>
  Object.hasOwn(ASSET_FAILURES, code) ? (ASSET_FAILURES[code] ?? '') : `The asset failed with ${code}.`;
