// Made by make generate from the Go package setting. Do not edit.

// CHOICES are the values of the settings that have a closed list of them.
export const CHOICES = {
  reasoning_effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  service_tier: ['auto', 'default', 'flex', 'priority'],
  cache_ttl: ['5m', '1h'],
};
