import { expect, test } from 'vitest';
import { money } from './format';

test('money shows its significant digits', () => {
  expect([12.3456, 1, 0.5, 0.0332, 0.00103, 0.000000004, 0, -0.00012, null].map(money)).toEqual(['$12.35', '$1.00', '$0.5', '$0.0332', '$0.00103', '$0.000000004', '$0', '−$0.00012', 'unknown']);
});
