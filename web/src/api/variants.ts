// Made by make generate from the Go package setting. Do not edit.

// VariantsForm is what a form needs to know of a setting that has several forms.
export interface VariantsForm {
  label: string;
  doc: string;
  variants: VariantForm[];
}

// VariantForm is what it needs to know of one of them.
export interface VariantForm {
  kind: string;
  label: string;
  doc: string;
  members: MemberForm[];
}

// MemberForm is what a form needs to know of one member.
export interface MemberForm {
  name: string;
  label: string;
  kind: 'integer' | 'switch';
  min?: number;
  max?: number;
  otherwise?: string; // what holds without it, or what to begin with if it is needed
  needed?: boolean;
}

export const context_policy: VariantsForm = {
  label: 'Context policy',
  doc: 'The rule by which a call’s messages are chosen; by default auto for chats, summary for background sessions, recent for those of a feature or a task.',
  variants: [
    { kind: 'auto', label: 'Automatic', doc: 'All messages, until they no longer fit. Then each old tool result shrinks to a note of its size, and a summary replaces the oldest messages.', members: [
      { name: 'tokens', label: 'Longest window, tokens', kind: 'integer', min: 1000, max: 10000000, otherwise: '200000' },
      { name: 'recall', label: 'The model may read what it is no longer shown', kind: 'switch', otherwise: 'yes' },
    ] },
    { kind: 'summary', label: 'Summary', doc: 'The latest summary and every message after those that it covers. A summary is written at a number of messages or of tokens, whichever is set.', members: [
      { name: 'limit', label: 'Summary at, messages', kind: 'integer', min: 4, max: 10000, otherwise: '50' },
      { name: 'tokens', label: 'Summary at, tokens', kind: 'integer', min: 1000, max: 10000000 },
    ] },
    { kind: 'recent', label: 'Recent messages', doc: 'At least the newest questions and answers; older ones are not shown.', members: [
      { name: 'limit', label: 'Messages', kind: 'integer', min: 1, max: 10000, otherwise: '10', needed: true },
    ] },
    { kind: 'single', label: 'This turn alone', doc: 'The message that is answered, and nothing before it.', members: [] },
    { kind: 'all', label: 'Everything', doc: 'Everything that fits into what the model can read. Beyond that the oldest turns are dropped.', members: [] },
  ],
};
