/** The operations on real-person authorization sessions as OpenAPI (V 2, V 4.10). */
import { SESSION_FIELDS } from '../../rules/index.ts';
import { fieldsBody } from './assets.ts';
import { json, ref } from './schema.ts';

export const SESSION_BODIES = { 'sessions.create': fieldsBody(SESSION_FIELDS) } as const;

const EXAMPLE = {
  id: 'authsess_3Nf7hQzK9tMv2cRwYb5xLd',
  object: 'asset.authorization_session',
  status: 'pending',
  authorization_url: 'https://provider.example/validate?token=...',
  route_group_id: 'video-a',
  route_group_name: 'Video A',
  expires_at: 1_767_227_400,
  created_at: 1_767_225_600,
  updated_at: 1_767_225_600,
} as const;
const { authorization_url: _, ...WITHOUT_LINK } = EXAMPLE;
const COMPLETED = { ...WITHOUT_LINK, status: 'completed', asset_group_id: 'assetgrp_5Tq8wZsN1vKx7bRdYc2mHp' } as const;

const SESSION = ref('AuthorizationSession');

export const SESSION_SUCCESSES = {
  'sessions.create': { 201: json('The session with the link for the browser', SESSION, EXAMPLE) },
  'sessions.get': { 200: json('The session', SESSION, COMPLETED) },
} as const;
