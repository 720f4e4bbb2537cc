// Made by make generate from the Go package setting. Do not edit.

import { CHOICES } from './choices';
import type { Session } from './schema';

// FieldSettings are the settings that a form has one field for; null is not set here.
export type FieldSettings = Pick<Session, 'temperature' | 'top_p' | 'max_tokens' | 'seed' | 'reasoning_effort' | 'service_tier' | 'cache_ttl' | 'approval_timeout' | 'knowledge_tokens'>;

// SettingForm is what a form needs to know of one.
export interface SettingForm {
  name: keyof FieldSettings;
  label: string;
  kind: 'number' | 'integer' | 'choice';
  min?: number;
  max?: number;
  choices?: string[];
}

export const temperature = { name: 'temperature', label: 'Temperature', kind: 'number', min: 0, max: 2 } satisfies SettingForm;
export const top_p = { name: 'top_p', label: 'Top p', kind: 'number', min: 0, max: 1 } satisfies SettingForm;
export const max_tokens = { name: 'max_tokens', label: 'Longest answer, tokens', kind: 'integer', min: 1, max: 10000000 } satisfies SettingForm;
export const seed = { name: 'seed', label: 'Seed', kind: 'integer' } satisfies SettingForm;
export const reasoning_effort = { name: 'reasoning_effort', label: 'Reasoning effort', kind: 'choice', choices: CHOICES.reasoning_effort } satisfies SettingForm;
export const service_tier = { name: 'service_tier', label: 'Service tier', kind: 'choice', choices: CHOICES.service_tier } satisfies SettingForm;
export const cache_ttl = { name: 'cache_ttl', label: 'Prompt cache lifetime', kind: 'choice', choices: CHOICES.cache_ttl } satisfies SettingForm;
export const approval_timeout = { name: 'approval_timeout', label: 'Approval timeout, seconds', kind: 'integer', min: 1, max: 2592000 } satisfies SettingForm;
export const knowledge_tokens = { name: 'knowledge_tokens', label: 'Knowledge, tokens', kind: 'integer', min: 0, max: 100000 } satisfies SettingForm;

export const FIELD_SETTINGS: SettingForm[] = [temperature, top_p, max_tokens, seed, reasoning_effort, service_tier, cache_ttl, approval_timeout, knowledge_tokens];
